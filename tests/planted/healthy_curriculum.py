# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: batches are larger in the second half of the run, as they are meant to be."""
# expect: healthy
from parts import STEPS, batches, learn, parts

model, optimizer = parts()
for batch in 64, 128:
    for x, y in batches(batch, steps=STEPS // 2):
        learn(model, optimizer, x, y)
