#!/usr/bin/env python3
"""train_accumulate.py - gradients of four batches summed for each optimizer step, read from an
IterableDataset through worker processes; a recurrent network

usage: train_accumulate.py [--steps N] [--workers N]
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

BATCHES_A_STEP = 4


class Sums(IterableDataset):
    """Streams of digits; the answer at each place is the sum so far, modulo ten."""

    def __init__(self, n_items):
        super().__init__()
        self.n_items = n_items

    def __iter__(self):
        info = get_worker_info()
        first, stride = (info.id, info.num_workers) if info else (0, 1)
        for at in range(first, self.n_items, stride):
            digits = torch.randint(10, (12,), generator=torch.Generator().manual_seed(at))
            yield digits, digits.cumsum(0) % 10


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 32)
        self.recur = nn.GRU(32, 64, batch_first=True)
        self.answer = nn.Linear(64, 10)

    def forward(self, digits):
        return self.answer(self.recur(self.embed(digits))[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(7)
    loader = DataLoader(Sums(args.steps * BATCHES_A_STEP * 8), 8, num_workers=args.workers)
    model = Counter()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)

    total = 0.0
    for batch, (digits, sums) in enumerate(loader):
        loss = F.cross_entropy(model(digits).flatten(0, 1), sums.flatten()) / BATCHES_A_STEP
        loss.backward()
        total += loss.item()
        if (batch + 1) % BATCHES_A_STEP == 0:
            optimizer.step()
            optimizer.zero_grad()
            if (batch + 1) % (5 * BATCHES_A_STEP) == 0:
                print(f"step {(batch + 1) // BATCHES_A_STEP} loss {total:.6f}")
            total = 0.0


if __name__ == "__main__":
    main()
