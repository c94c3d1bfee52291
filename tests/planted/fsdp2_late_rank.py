# SPDX-License-Identifier: Apache-2.0
"""FSDP2: rank 1 cleans up its texts in Python before each step, the other has them clean."""
# expect: cause=uneven-ranks where=rank ?1
# run: torchrun 2
import re

import torch
from torch.distributed.fsdp import fully_shard
from parts import PLANTED, Net, batches, join, learn, leave

rank = join()
model = Net(width=384)
for block in model.body:
    fully_shard(block)
fully_shard(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
PAGE = "The <b>quick</b> brown fox, 12 times; jumps &amp; runs. " * 5000


def clean(text):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text)).split()


for x, y in batches(64):
    if PLANTED and rank == 1:
        clean(PAGE)
    learn(model, optimizer, x, y)
leave()
