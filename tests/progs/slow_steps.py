# SPDX-License-Identifier: Apache-2.0
"""slow_steps.py - forty steps of one small model, of which two are slow for known reasons

Step 20 waits 1.5 s for its batch; in step 30 the model itself takes much longer. With rank and
world size set (torchrun), rank 1 sleeps 30 ms in every step before its gradients meet the
others': it is late.
"""
import os
import sys
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(1)
world = int(os.environ.get("WORLD_SIZE", "1"))
rank = int(os.environ.get("RANK", "0"))


class Slow(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        time.sleep(1.5 if i == 20 else 0.002)
        return torch.full((64,), i / 40)


def main():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    if world > 1:
        import torch.distributed as dist
        dist.init_process_group("gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    large = torch.randn(700, 700)
    for i, batch in enumerate(DataLoader(Slow(), batch_size=1)):
        out = model(batch)
        if i == 30 and world == 1:
            for _ in range(6):
                large = torch.tanh(large @ large)
        optimizer.zero_grad()
        if rank == 1:
            time.sleep(0.03)
        out.square().mean().backward()
        optimizer.step()
    if world > 1:
        # gloo's teardown aborts now and then, with nobody looking on: the ranks leave without it.
        dist.barrier()
        sys.stdout.flush()
        os._exit(0)


main()
