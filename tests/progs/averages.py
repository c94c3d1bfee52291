# SPDX-License-Identifier: Apache-2.0
"""averages.py FILE - trains a small model; steps 4 to 6 also under torch.profiler

Writes torch's key_averages(), by name and by name and input shapes, to FILE as JSON.
"""
import json
import sys

import torch
import torch.nn as nn
from torch.profiler import ProfilerActivity, profile

FIRST, LAST = 4, 6

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Dropout(0.1),
                      nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
recorder = profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True)

for step in range(10):
    if step == FIRST:
        recorder.start()
    with torch.autograd.profiler.record_function("forward"):
        loss = model(torch.randn(32, 64)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step == LAST:
        recorder.stop()


def rows(averages):
    return [{
        "name": row.key,
        "shapes": row.input_shapes or [],
        "calls": row.count,
        "self_us": row.self_cpu_time_total,
        "total_us": row.cpu_time_total,
        "self_bytes": row.self_cpu_memory_usage,
        "total_bytes": row.cpu_memory_usage,
    } for row in averages]


with open(sys.argv[1], "w") as out:
    json.dump({"name": rows(recorder.key_averages()),
               "shape": rows(recorder.key_averages(group_by_input_shape=True))}, out)
