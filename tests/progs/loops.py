#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""loops.py - training loops of many shapes, tiny: only where their steps and epochs lie matters

usage: loops.py CASE
"""

import sys
import threading

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(1)
DATA = TensorDataset(torch.randn(24, 8), torch.randn(24, 1))
HELD_OUT = TensorDataset(torch.randn(12, 8), torch.randn(12, 1))


class Stream(IterableDataset):
    def __iter__(self):
        return iter([DATA[i] for i in range(24)])


def make(size=8):
    model = nn.Sequential(nn.Linear(size, 8), nn.ReLU(), nn.Linear(8, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.01)


def loss_of(model, batch):
    return (model(batch[0]) - batch[1]).pow(2).mean()


def train(model, optimizer, batch):
    optimizer.zero_grad()
    loss_of(model, batch).backward()
    optimizer.step()


def evaluate(model, loader, most=99):
    with torch.no_grad():
        for i, batch in enumerate(loader):
            loss_of(model, batch)
            if i + 1 == most:
                break


def plain():
    model, optimizer = make()
    for _ in range(2):
        for batch in DataLoader(DATA, 4):
            train(model, optimizer, batch)


def iterable():
    model, optimizer = make()
    loader = DataLoader(Stream(), 4)
    for _ in range(2):
        for batch in loader:
            train(model, optimizer, batch)


def persistent():
    """Workers that stay: one iterator for all passes. An evaluation between them."""
    model, optimizer = make()
    loader = DataLoader(DATA, 4, num_workers=1, persistent_workers=True)
    held_out = DataLoader(HELD_OUT, 4)
    for _ in range(3):
        for batch in loader:
            train(model, optimizer, batch)
        evaluate(model, held_out)


def same_address():
    """A long evaluation by a loader whose sampler has the address of the training one's."""
    model, optimizer = make()
    order = [list(range(i, i + 4)) for i in range(0, 24, 4)]
    for _ in range(2):
        for batch in DataLoader(DATA, batch_sampler=order):
            train(model, optimizer, batch)
        order *= 10
        evaluate(model, DataLoader(DATA, batch_sampler=order))
        del order[6:]


def sanity():
    """An evaluation cut short before the first step, as some trainers do; one inside an epoch."""
    model, optimizer = make()
    loader, held_out = DataLoader(DATA, 4), DataLoader(HELD_OUT, 4)
    evaluate(model, held_out, 2)
    for _ in range(2):
        for i, batch in enumerate(loader):
            train(model, optimizer, batch)
            if i == 2:
                evaluate(model, held_out)


def twins():
    """Two optimizers of one class that take turns, on batches of two loaders. These are kept: a new one that
    has the address of a training one that is gone may be that one's next pass, for all that is seen."""
    first, first_optimizer = make()
    second, second_optimizer = make()
    kept = []
    for _ in range(2):
        loaders = DataLoader(DATA, 4), DataLoader(DATA, 4, shuffle=True)
        pairs = zip(*loaders)
        kept.append((loaders, pairs))
        for one, other in pairs:
            train(first, first_optimizer, one)
            train(second, second_optimizer, other)


def critic():
    """A critic that steps three times for each step of the generator."""
    critic_model, critic_optimizer = make()
    model, optimizer = make()
    for i, batch in enumerate(DataLoader(DATA, 2)):
        train(critic_model, critic_optimizer, batch)
        if i % 3 == 2:
            train(model, optimizer, batch)


def in_backward():
    """An optimizer for each parameter, stepped as soon as its gradient is there."""
    model, _ = make()
    optimizers = {p: torch.optim.SGD([p], lr=0.01) for p in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(update)
    for _ in range(2):
        for batch in DataLoader(DATA, 4):
            loss_of(model, batch).backward()


def on_thread():
    """The whole training on a thread of its own."""
    thread = threading.Thread(target=plain)
    thread.start()
    thread.join()


def no_loader():
    model, optimizer = make()
    for i in range(12):
        train(model, optimizer, (DATA.tensors[0][i:i + 4], DATA.tensors[1][i:i + 4]))


def one_batch():
    """A new iterator for each step."""
    model, optimizer = make()
    loader = DataLoader(DATA, 4, shuffle=True)
    for _ in range(12):
        train(model, optimizer, next(iter(loader)))


def inference():
    model, _ = make()
    evaluate(model, DataLoader(DATA, 1))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
