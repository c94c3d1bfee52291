# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a buffer that fills up and then stays as it is."""
# expect: healthy
import collections

from parts import batches, learn, parts

model, optimizer = parts()
memory = collections.deque(maxlen=4)
for x, y in batches():
    memory.append(x * 0.5)
    learn(model, optimizer, x + memory[0] * 0, y)
