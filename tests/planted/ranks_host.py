# SPDX-License-Identifier: Apache-2.0
"""Rank 0 alone writes statistics in Python in each step."""
# expect: cause=uneven-ranks where=rank ?0
# run: torchrun 2
from parts import PLANTED, Net, batches, join, learn, leave, parallel

rank = join()
model, optimizer = parallel(Net(width=512))


def write_statistics(at):
    total = 0
    for i in range(150000):
        total += (i * at) % 7
    return total


for at, (x, y) in enumerate(batches(32)):
    learn(model, optimizer, x, y)
    if PLANTED and rank == 0:
        write_statistics(at)
leave()
