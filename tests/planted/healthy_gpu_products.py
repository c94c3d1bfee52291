# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a few large products, and the loss is read in each step."""
# expect: healthy
# needs: cuda
from parts_gpu import ROWS, WIDTH, batches, learn, parts

model, optimizer = parts(width=2 * WIDTH, layers=3)
total = 0.0
for x, y in batches(ROWS):
    total += learn(model, optimizer, x, y).item()
