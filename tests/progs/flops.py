# SPDX-License-Identifier: Apache-2.0
"""flops.py - a model's training steps, and what torch's own counter says of one of them

usage: flops.py MODEL OUT	MODEL: one of those below, or all: their steps are one. OUT gets {"aten::mm": operations of a step, ...} as torch.utils.flop_counter counts them
"""
import json
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop
from torch.utils.flop_counter import FlopCounterMode


class Attention(nn.Module):
    """Products written out: torch's counter knows no attention of the CPU."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (t.view(batch, length, self.heads, -1).transpose(1, 2)
                             for t in self.inputs(x).chunk(3, -1))
        scores = (query @ key.transpose(-2, -1)).softmax(-1)
        return x + self.output((scores @ value).transpose(1, 2).reshape(batch, length, width))


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))
        self.first = nn.Linear(16, 24)

    def forward(self, x):
        # Stopped early, the last operator begins and does nothing.
        with set_checkpoint_early_stop(False):
            return checkpoint(self.inner, self.first(x), use_reentrant=False)


class Biased(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(6, 8, 10)), nn.Parameter(torch.randn(6, 1, 10))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(12, 20)

    def forward(self, x):
        state = None
        for one in x.unbind(1):
            state = self.cell(one, state)
        return state[0]


def mlp():
    return nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 10)), (16, 20)


def wide():
    return nn.Sequential(nn.Linear(20, 40, bias=False), nn.Tanh(), nn.Linear(40, 5, bias=False)), (4, 7, 20)


def attention():
    return nn.Sequential(Attention(), nn.LayerNorm(32), Attention()), (3, 11, 32)


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                         nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Conv2d(16, 16, 1)), (4, 3, 17, 15)


def signal():
    return nn.Sequential(nn.Conv1d(4, 8, 5), nn.ReLU(), nn.Conv1d(8, 8, 3, dilation=2)), (6, 4, 50)


def volume():
    return nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.ReLU(), nn.Conv3d(4, 2, 2, stride=2)), (2, 2, 8, 10, 6)


def transposed():
    return nn.Sequential(nn.ConvTranspose2d(6, 6, 4, stride=2, padding=1), nn.ReLU(),
                         nn.ConvTranspose2d(6, 3, 3)), (2, 6, 7, 5)


def recurrent():
    return Recurrent(), (5, 6, 12)


def biased():
    return Biased(), (6, 5, 8)


def checkpointed():
    return Checkpointed(), (9, 16)


def frozen():
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Flatten(), nn.LazyLinear(4))
    model(torch.randn(1, 3, 12, 12))
    model[2].requires_grad_(False)
    return model, (4, 3, 12, 12)


class Together(nn.Module):
    """Each model with a batch of its own."""

    def __init__(self, made):
        super().__init__()
        self.models = nn.ModuleList(model for model, _ in made)
        self.shapes = [shape for _, shape in made]

    def forward(self):
        return sum(F.mse_loss(model(torch.randn(shape)), torch.ones(()))
                   for model, shape in zip(self.models, self.shapes))


MODELS = [mlp, wide, attention, convolutions, signal, volume, transposed, recurrent, biased, checkpointed, frozen]


def step(model, optimizer):
    optimizer.zero_grad()
    model().backward()
    optimizer.step()


def main():
    torch.manual_seed(1)
    model = Together([make() for make in MODELS if sys.argv[1] in ("all", make.__name__)])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with FlopCounterMode(display=False) as counter:
        step(model, optimizer)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump({str(op).replace(".", "::"): flops for op, flops in counter.get_flop_counts()["Global"].items()},
                  out)
    for _ in range(6):
        step(model, optimizer)


if __name__ == "__main__":
    import warnings
    warnings.simplefilter("ignore")
    main()
