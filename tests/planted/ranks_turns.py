# SPDX-License-Identifier: Apache-2.0
"""Inputs of unlike length: now this rank is late, now the other."""
# expect: cause=communication,uneven-ranks where=length|each step|not always
# run: torchrun 2
from parts import PLANTED, Net, batches, join, learn, leave, parallel

rank = join()
model, optimizer = parallel(Net(width=512))
for at, (x, y) in enumerate(batches(256)):
    n = (240 if (at * 7 // 3 + rank) % 2 else 8) if PLANTED else 124
    learn(model, optimizer, x[:n], y[:n])
leave()
