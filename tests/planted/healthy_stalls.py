# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a few steps wait long, but together hardly any of the run."""
# expect: healthy
import time

from parts import batches, learn, parts

model, optimizer = parts(width=512)
begin = time.monotonic()
for step, (x, y) in enumerate(batches(steps=400)):
    learn(model, optimizer, x, y)
    if step in (31, 98, 231):
        # Six steps long, on any machine: a twentieth of the run.
        time.sleep(6 * (time.monotonic() - begin) / (step + 1))
