# SPDX-License-Identifier: Apache-2.0
"""Trains, with Python between operators and in a loader's worker, and threads that come and go, raise,
recurse, make code."""
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)
net = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
is_over = False


def between_operators():
    end = time.process_time() + 0.01
    n = 0
    while time.process_time() < end:
        n += 1
    return n


class Numbers(Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, at):
        return in_worker(at)


def in_worker(at):
    end = time.process_time() + 0.01
    n = 0
    while time.process_time() < end:
        n += 1
    return torch.full((16,), at / 80)


def recurse(depth):
    if depth == 0:
        raise ValueError("here")
    recurse(depth - 1)


def short_life(number):
    made = {}
    exec(f"def made_{number}(x):\n    return x + {number}\n", made)
    made[f"made_{number}"](1)
    try:
        recurse(number % 60)
    except ValueError:
        pass


def in_background():
    number = 0
    while not is_over:
        thread = threading.Thread(target=short_life, args=(number,))
        thread.start()
        thread.join()
        number += 1


background = threading.Thread(target=in_background)
background.start()
for x in DataLoader(Numbers(), batch_size=2, num_workers=1):
    optimizer.zero_grad()
    loss = net(x).square().sum()
    loss.backward()
    optimizer.step()
    between_operators()
is_over = True
background.join()
print(f"{loss.item():.9f}")
