# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: some objects are made in each step beside a large cache, and the garbage collector is
quickly through the young ones."""
# expect: healthy
from parts import batches, learn, parts

cache = {"word%d" % i: [i, [i]] for i in range(60000)}
model, optimizer = parts()
for x, y in batches():
    rows = [[at] for at in range(1500)]
    learn(model, optimizer, x, y)
