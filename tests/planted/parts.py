# SPDX-License-Identifier: Apache-2.0
"""parts.py - what the planted scripts have in common: a model, data, and whether there is a problem"""
import os

import time

import torch
import torch.distributed as dist
from torch import nn

PLANTED = os.environ.get("PLANTED", "1") == "1"
STEPS = int(os.environ.get("STEPS", "60"))


class Net(nn.Module):
    """A step of some 10 to 30 ms on two cores."""

    def __init__(self, width=768, classes=10, layers=4):
        super().__init__()
        sizes = [256] + [width] * layers
        self.body = nn.Sequential(*(nn.Sequential(nn.Linear(a, b), nn.GELU())
                                    for a, b in zip(sizes, sizes[1:])))
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x))


class Rows(torch.utils.data.Dataset):
    """Samples that cost next to nothing."""

    def __init__(self, n=1 << 20):
        self.n, self.table = n, torch.randn(512, 256)

    def __len__(self):
        return self.n

    def __getitem__(self, at):
        return self.table[at % 512], at % 10


class SlowRows(Rows):
    """From storage that answers after so many seconds."""

    def __init__(self, n, seconds):
        super().__init__(n)
        self.seconds = seconds

    def __getitem__(self, at):
        time.sleep(self.seconds)
        return super().__getitem__(at)


class Batches(torch.utils.data.IterableDataset):
    """Whole batches that cost next to nothing."""

    def __init__(self, batch=128, n=1 << 20):
        self.x, self.y, self.n = torch.randn(8, batch, 256), torch.randint(10, (8, batch)), n

    def __iter__(self):
        for at in range(self.n):
            yield self.x[at % 8], self.y[at % 8]


def batches(batch=128, steps=STEPS):
    return torch.utils.data.DataLoader(Batches(batch, steps), batch_size=None)


def parts(**kind):
    torch.manual_seed(0)
    model = Net(**kind)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3)


def learn(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def join():
    """Meets the other ranks; this one's number."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return dist.get_rank()


def parallel(model, **kind):
    model = nn.parallel.DistributedDataParallel(model, **kind)
    return model, torch.optim.SGD(model.parameters(), lr=1e-3)


def leave():
    # gloo ends the program where a rank goes while another one is still busy with it.
    dist.barrier()
    time.sleep(0.1)
    dist.destroy_process_group()
