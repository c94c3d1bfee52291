# SPDX-License-Identifier: Apache-2.0
"""After each step a table is written: a row for each parameter's first numbers, small operators between them."""
# expect: cause=host-code where=table|host_table.py
from parts import PLANTED, batches, learn, parts


def table(model):
    rows = []
    for name, p in model.named_parameters():
        for at, value in enumerate(p.detach().flatten()[:300].tolist()):
            rows.append("%s[%d] %8.4f %e" % (name, at, value, value))
    return rows


model, optimizer = parts(width=256, layers=10)
for x, y in batches(96):
    learn(model, optimizer, x, y)
    if PLANTED:
        table(model)
