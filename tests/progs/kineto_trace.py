#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kineto_trace.py - a small training under torch.profiler: its trace, and its own table

usage: kineto_trace.py TRACE.json TABLE.json [STACKS.json CALLS.json]

STACKS.json: a trace of another one, with stacks and modules. CALLS.json: how often each module was
called in it, as forward hooks count: {path of attributes: [class, calls]}.
"""

import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(16, 16), nn.ReLU())

    def forward(self, x):
        # Twice the same one.
        return self.inner(self.inner(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(16, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.deep(x, 6)

    def deep(self, x, n):
        return self.deep(x, n - 1) if n else self.head(x)


def stacks(trace, calls):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    counts, is_on = {}, []

    def count(name):
        def hook(module, *_):
            if is_on:
                entry = counts.setdefault(name, [type(module).__name__, 0])
                entry[1] += 1
        return hook

    for name, module in model.named_modules():
        module.register_forward_pre_hook(count(name))
    with profile(activities=[ProfilerActivity.CPU], with_stack=True, with_modules=True,
                 schedule=schedule(wait=0, warmup=1, active=3, repeat=1)) as prof:
        for i in range(4):
            if i:
                is_on.append(True)
            model(torch.randn(8, 16)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if i == 3:
                is_on.clear()
            prof.step()
    prof.export_chrome_trace(trace)
    with open(calls, "w") as file:
        json.dump(counts, file)


def main(trace, table, *more):
    if more:
        stacks(*more)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    data = DataLoader(TensorDataset(torch.randn(64, 16), torch.randn(64, 4)), 8)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True,
                 schedule=schedule(wait=1, warmup=1, active=4, repeat=1)) as prof:
        for x, y in data:
            with torch.profiler.record_function('a "range" \\ of mine'):
                loss = (model(x) - y).pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            prof.step()
    prof.export_chrome_trace(trace)
    rows = [[e.key, e.count, e.self_cpu_time_total, e.cpu_time_total] for e in prof.key_averages()]
    with open(table, "w") as file:
        json.dump(rows, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
