#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kineto_trace.py - a small training under torch.profiler: its trace, and its own table

usage: kineto_trace.py TRACE.json TABLE.json
"""

import json
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(1)


def main(trace, table):
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
