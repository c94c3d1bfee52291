# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: the loss is read once a step and printed every twentieth."""
# expect: healthy
from parts import batches, learn, parts

model, optimizer = parts()
total = 0.0
for at, (x, y) in enumerate(batches()):
    total += learn(model, optimizer, x, y).item()
    if at % 20 == 19:
        print("step %d loss %.3f" % (at, total / (at + 1)))
