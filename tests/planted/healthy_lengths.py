# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: batches of unlike length, as texts are."""
# expect: healthy
from parts import batches, learn, parts

model, optimizer = parts()
for at, (x, y) in enumerate(batches(256)):
    n = 64 + at * 37 % 128
    learn(model, optimizer, x[:n], y[:n])
