#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ranges_rss.py OUT

Ranges that keep memory, and RSS as the program itself reads it right before and after each: OUT has a JSON list
of pairs. Calls are counted from 1.
"""
import json
import os
import sys
import time

import torch

PAGE = os.sysconf("SC_PAGESIZE")


def read_rss():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE


torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
kept, said = [], []
for step in range(12):
    before = read_rss()
    with torch.profiler.record_function("training_step"):
        kept.append(torch.ones(1 << (20 + step % 3)))
        model(torch.randn(8, 64)).sum().backward()
    said.append((before, read_rss()))
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.02)
with open(sys.argv[1], "w", encoding="utf-8") as out:
    json.dump(said, out)
