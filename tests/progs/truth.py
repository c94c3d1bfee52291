# SPDX-License-Identifier: Apache-2.0
"""truth.py CASE [--profile FILE] - a small training, on request under torch's own profiler

The cases are those in which steps, nesting or memory are not obvious. With --profile, steps
1 to 6 are recorded by torch.profiler with memory, and its chrome trace is written to FILE.
Prints the losses as hexadecimal floats, so that runs can be compared to the bit.
"""
import sys

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

STEPS = 9
FIRST, LAST = 1, 6  # recorded by torch.profiler


class Numbers(Dataset):
    def __init__(self, n, width):
        self.n, self.width = n, width

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return torch.arange(i, i + self.width, dtype=torch.float32) / self.n, i % 3


def mlp():
    """Adam, no data loader, a range of the user's own."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters())
    while True:
        with torch.autograd.profiler.record_function("forward"):
            loss = model(torch.randn(8, 16)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss


def lstm():
    """A recurrent model, batches by a loader in the same process, clipped gradients."""
    model = nn.LSTM(12, 24, num_layers=2, batch_first=True)
    head = nn.Linear(24, 3)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
    while True:
        for x, y in DataLoader(Numbers(16, 36), batch_size=4):
            out, _ = model(x.view(len(x), 3, 12))
            loss = nn.functional.cross_entropy(head(out[:, -1]), y)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            yield loss


def gan():
    """Two optimizers, one step of each a round."""
    maker = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8))
    judge = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    judging = torch.optim.AdamW(judge.parameters(), lr=1e-3)
    making = torch.optim.SGD(maker.parameters(), lr=1e-2)
    loss_of = nn.BCEWithLogitsLoss()
    while True:
        real, fake = torch.randn(6, 8), maker(torch.randn(6, 4))
        judging.zero_grad()
        judged = loss_of(judge(real), torch.ones(6, 1)) + loss_of(judge(fake.detach()),
                                                                  torch.zeros(6, 1))
        judged.backward()
        judging.step()
        making.zero_grad()
        made = loss_of(judge(fake), torch.ones(6, 1))
        made.backward()
        making.step()
        yield judged + made


def lbfgs():
    """An optimizer that calls the model many times in one step."""
    model = nn.Linear(10, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
    x = torch.randn(20, 10)
    y = x.sum(1, keepdim=True).sin()

    def closure():
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        return loss

    while True:
        yield optimizer.step(closure)


def accumulate():
    """Three batches a step, made by two worker processes that stay."""
    model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(),
                          nn.Linear(4 * 22, 3))
    optimizer = torch.optim.RMSprop(model.parameters(), foreach=True)
    loader = DataLoader(Numbers(36, 24), batch_size=3, num_workers=2, persistent_workers=True)
    while True:
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x[:, None]), y) / 3
            loss.backward()
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
                yield loss


def compiled():
    """A compiled model: graphs by Dynamo and AOTAutograd, compiled code where a compiler is."""
    backend = "inductor" if "--inductor" in sys.argv else "aot_eager"
    plain = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2))
    model = torch.compile(plain, backend=backend)
    optimizer = torch.optim.AdamW(model.parameters())
    while True:
        loss = model(torch.randn(5, 8)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss


CASES = {case.__name__: case for case in (mlp, lstm, gan, lbfgs, accumulate, compiled)}


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    losses = CASES[sys.argv[1]]()
    path = sys.argv[sys.argv.index("--profile") + 1] if "--profile" in sys.argv else None
    profiler = None
    for step in range(STEPS):
        if path and step == FIRST:
            profiler = torch.profiler.profile(
                activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True,
                record_shapes="--shapes" in sys.argv)
            profiler.start()
        print(step, next(losses).item().hex())
        if profiler and step == LAST:
            profiler.stop()
            profiler.export_chrome_trace(path)
            profiler = None


if __name__ == "__main__":
    main()
