# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a few large products of data on the device, and the loss is read in each step."""
# expect: healthy
# needs: cuda
from parts_gpu import ROWS, STEPS, WIDTH, batches, learn, parts

model, optimizer = parts(width=2 * WIDTH, layers=3)
data = list(batches(ROWS, 4))
total = 0.0
for at in range(STEPS):
    total += learn(model, optimizer, *data[at % 4]).item()
