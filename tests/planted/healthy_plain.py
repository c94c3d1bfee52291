# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a plain loop."""
# expect: healthy
from parts import STEPS, batches, learn, parts

model, optimizer = parts()
for at, (x, y) in enumerate(batches()):
    learn(model, optimizer, x, y)
    if at == STEPS:
        break
