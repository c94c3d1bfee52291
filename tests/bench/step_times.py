#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""step_times.py - trains and writes down when each step ended (a child of step_overhead.py)

usage: step_times.py OUT.json --work gpt|relu|empty [--steps N] [--device cpu|cuda]
                     [--torch-profiler WAIT,WARMUP,ACTIVE [--memory] [--export]]

OUT.json gets two lists: the ends of steps on the wall's clock and on that of the process's CPU
time, all threads together. gpt is the demo's model; the others are steps of twenty thousand
tiny calls, in which the cost of one event shows plainly (on a GPU: as many tiny kernels, or
allocations; a step ends when the device has done its work). --torch-profiler runs PyTorch's own
profiler by that schedule, to compare with; --memory: tensor memory too; --export: a file for
each window. A step's time includes everything that the profiler does at its end.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "progs"))
CALLS_A_STEP = 20000


def gpt_step(device="cpu"):
    from train_gpt import GPT

    context, batch = 64, 2
    model = GPT(96, 6, 6, 192, context).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(96, (1 << 16,)).to(device)

    def step(at):
        begins = [(at * batch + i) * 31 % (len(data) - context - 1) for i in range(batch)]
        x = torch.stack([data[b:b + context] for b in begins])
        wanted = torch.stack([data[b + 1:b + context + 1] for b in begins])
        loss = model(x, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def calls_step(call, device):
    """An optimizer step after CALLS_A_STEP calls of one operator."""
    weight = torch.zeros(4, requires_grad=True, device=device)
    weight.grad = torch.zeros(4, device=device)
    optimizer = torch.optim.SGD([weight], lr=0.0)

    def step(_):
        for _ in range(CALLS_A_STEP):
            call()
        optimizer.step()

    return step


WORKS = {
    "gpt": gpt_step,
    # Two operator events a call, no tensor is allocated.
    "relu": lambda device: calls_step(torch.zeros(4, device=device).relu_, device),
    # One operator event, one allocation and one release.
    "empty": lambda device: calls_step(lambda: torch.empty(4, device=device), device),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--work", choices=WORKS, default="gpt")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--torch-profiler")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--export", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    step = WORKS[args.work](args.device)
    activities = [torch.profiler.ProfilerActivity.CPU]
    if args.device == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)

    profiler = contextlib.nullcontext()
    if args.torch_profiler:
        wait, warmup, active = map(int, args.torch_profiler.split(","))
        profiler = torch.profiler.profile(
            activities=activities, profile_memory=args.memory,
            on_trace_ready=(lambda p: p.export_chrome_trace(args.out + ".trace.json"))
            if args.export else None,
            schedule=torch.profiler.schedule(wait=wait, warmup=warmup, active=active))
    wall, cpu = [], []
    with profiler as running:
        for at in range(args.steps):
            step(at)
            if args.device == "cuda":
                torch.cuda.synchronize()
            if running is not None:
                running.step()
            wall.append(time.perf_counter_ns())
            cpu.append(time.process_time_ns())
    with open(args.out, "w") as file:
        json.dump([wall, cpu], file)


if __name__ == "__main__":
    main()
