#!/usr/bin/env python3
"""train_modules.py - small trainings with many sorts of modules, and what torch says of them

usage: train_modules.py [--steps N] [--reference FILE]

Trains four models in turns and prints the bits of their losses. With --reference the calls of
modules in the last three steps go to FILE as JSON: counted by a forward pre-hook, by qualified name
and class, and by torch.profiler, by class.
"""

import argparse
import collections
import json
import os
import struct
import tempfile

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

LAST = 3


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(x)


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.symbol = nn.Embedding(50, 32)
        self.blocks = nn.ModuleList(Block(32) for _ in range(3))
        self.head = nn.Linear(32, 50)

    def forward(self, x):
        x = self.symbol(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)

    def get_batch(self):
        return torch.randint(50, (2, 8)), torch.randint(50, (2, 8))

    def get_loss(self, out, y):
        return F.cross_entropy(out.flatten(0, 1), y.flatten())


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.b = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        # The same module twice in a step.
        return self.relu(x + self.b(self.relu(self.norm(self.a(x)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.body = nn.Sequential(Residual(8), Residual(8))
        self.head = nn.Linear(8, 10)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.head(self.body(self.stem(x)).mean((2, 3)))

    def get_batch(self):
        return torch.randn(2, 3, 12, 12), torch.randint(10, (2,))

    def get_loss(self, out, y):
        return self.loss(out, y)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.LSTM(8, 16, batch_first=True)
        self.cell = nn.LSTMCell(16, 16)
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        y, (h, c) = self.encoder(x)
        h, c = h[0], c[0]
        # One module from one line, again and again.
        for _ in range(5):
            h, c = self.cell(y[:, -1], (h, c))
        return self.head(h)

    def get_batch(self):
        return torch.randn(3, 6, 8), torch.randint(4, (3,))

    def get_loss(self, out, y):
        return nn.CrossEntropyLoss()(out, y)


class Nothing(nn.Module):
    """No operator at all."""

    def forward(self, x):
        return x


class Made(Nothing):
    """Lives for one call; the next one may come to stand at its address."""


class MadeToo(Nothing):
    """The same, of another class."""


class Odd(nn.Module):
    """What is not so usual: shared modules, recomputed ones, equal calls, hooks, errors."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.again = self.first
        self.same = nn.Linear(8, 8)
        self.nothing = Nothing()
        self.checked = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        self.reentrant = nn.Sequential(nn.Linear(8, 8), nn.Tanh())
        self.hooked = nn.Dropout(0.1)
        self.hooked.register_forward_hook(lambda module, args, out: out + 0)
        self.lists = nn.ModuleDict({"ab": nn.Identity(), "é": nn.Linear(8, 8)})

    def forward(self, x):
        x = self.again(self.first(x))
        y = [self.same(x) for _ in range(3)]  # equal calls, nothing in between
        x = self.nothing(self.nothing(sum(y)))
        for made in (Made, MadeToo, Made):
            x = made()(x)
        x = checkpoint(self.checked, x, use_reentrant=False)
        x = checkpoint(self.reentrant, x, use_reentrant=True)
        x = self.lists["é"](self.lists["ab"](self.hooked(x)))
        try:
            self.first(torch.ones(3))
        except RuntimeError:
            pass
        return x

    def get_batch(self):
        return torch.randn(4, 8), torch.randn(4, 8)

    def get_loss(self, out, y):
        return F.mse_loss(out, y)


MODELS = {"gpt": Gpt, "cnn": Cnn, "lstm": Lstm, "odd": Odd}


def run_step(model, optimizer):
    x, y = model.get_batch()
    loss = model.get_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def count_by_hooks(models, counts):
    """A global hook: it sees modules that are made on the way, too."""
    names = {id(module): name for model in models for name, module in model.named_modules()}

    def note(module, args):
        counts[names.get(id(module), "") + "/" + type(module).__name__] += 1

    nn.modules.module.register_module_forward_pre_hook(note)


def count_by_profiler(profiler, counts):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    for event in events:
        name = event.get("name", "")
        if event.get("cat") == "python_function" and name.startswith("nn.Module: "):
            counts[name[len("nn.Module: "):].rsplit("_", 1)[0]] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--reference")
    options = parser.parse_args()

    torch.manual_seed(3)
    torch.set_num_threads(1)
    models = [model() for model in MODELS.values()]
    optimizers = [torch.optim.AdamW(model.parameters(), lr=0.01) for model in models]
    by_hooks, by_profiler = collections.Counter(), collections.Counter()
    losses = []
    for step in range(options.steps):
        if step == options.steps - LAST and options.reference:
            count_by_hooks(models, by_hooks)
            profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                              with_stack=True, with_modules=True)
            profiler.start()
        losses.extend(map(run_step, models, optimizers))
    if options.reference:
        profiler.stop()
        count_by_profiler(profiler, by_profiler)
        # It takes what stands at an address for what stood there first: of classes of which a step
        # makes modules, in any order of addresses, it cannot say.
        for made in {name[1:] for name in by_hooks if name.startswith("/")}:
            by_profiler[made] = sum(n for name, n in by_hooks.items()
                                    if name.rsplit("/", 1)[1] == made)
        with open(options.reference, "w", encoding="utf-8") as file:
            json.dump({"hooks": by_hooks, "profiler": by_profiler}, file)
    print("loss", *(struct.pack(">d", loss).hex() for loss in losses))


if __name__ == "__main__":
    main()
