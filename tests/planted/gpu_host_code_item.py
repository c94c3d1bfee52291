# SPDX-License-Identifier: Apache-2.0
"""The loss is read once a step, which is harmless; sorting a table in Python afterwards is not."""
# expect: cause=host-code,host-bound where=rank_samples|gpu_host_code_item.py
# needs: cuda
from parts_gpu import batches, learn, often, one_batch, parts


def rank_samples(table):
    return sorted(table, key=lambda row: (-row["loss"], row["at"]))[:10]


model, optimizer = parts()
x, y = one_batch()
table = [{"at": at, "loss": (at * 7919 % 1000) / 1000} for at in range(1000)]
n = often(lambda: rank_samples(table), lambda: learn(model, optimizer, x, y))
for x, y in batches():
    loss = learn(model, optimizer, x, y).item()
    for _ in range(n):
        rank_samples(table)
