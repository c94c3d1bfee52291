#!/usr/bin/env python3
"""elastic_ranks.py - a training whose second rank dies once: torchrun starts both again

usage: torchrun --nproc_per_node 2 --max-restarts 1 elastic_ranks.py FOLDER

Ranks have nothing to do with each other, so that only the launcher has to be right. At the first
start rank 1 dies when the first window of both is in FOLDER, and rank 0 waits to be ended.
"""

import os
import sys
import time

import torch
from torch import nn

folder, rank = sys.argv[1], os.environ["RANK"]
is_first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
torch.set_num_threads(1)
model = nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    optimizer.zero_grad()
    model(torch.ones(4, 16)).sum().backward()
    optimizer.step()
while is_first:
    time.sleep(0.02)
    if rank == "1" and all(os.path.exists(f"{folder}/rank{n}.0.tpt") for n in (0, 1)):
        os._exit(3)
os.write(1, b"done\n")  # one write: where PYTHONUNBUFFERED is set, print() makes two of it
