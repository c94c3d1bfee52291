# SPDX-License-Identifier: Apache-2.0
"""A report of all rates is made as text in each step: the GPU has long finished when it gets more."""
# expect: cause=host-code,host-bound where=report|gpu_host_code.py
# needs: cuda
from parts_gpu import batches, learn, often, one_batch, parts


def report(rates):
    return "\n".join("%d: %.4f" % (at, rate) for at, rate in enumerate(rates))


model, optimizer = parts()
x, y = one_batch()
rates = [0.001 * at for at in range(500)]
n = often(lambda: report(rates), lambda: learn(model, optimizer, x, y), part=0.5, is_beside=True)
for x, y in batches():
    learn(model, optimizer, x, y)
    if n:
        text = report(rates * n)
