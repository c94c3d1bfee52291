# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a plain loop."""
# expect: healthy
from parts import batches, learn, parts

model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
