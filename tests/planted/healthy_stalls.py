# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a few steps wait long, but together hardly any of the run."""
# expect: healthy
import time

from parts import batches, learn, parts

model, optimizer = parts(width=512)
for step, (x, y) in enumerate(batches(steps=150)):
    learn(model, optimizer, x, y)
    if step in (31, 44, 73, 98, 131):
        time.sleep(0.04)
