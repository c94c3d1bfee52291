#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""step_times.py - trains and writes down when each step ended (a child of step_overhead.py)

usage: step_times.py OUT.json --work gpt|tiny|conv|relu|empty [--steps N] [--device cpu|cuda]
                     [--torch-profiler WAIT,WARMUP,ACTIVE [--memory] [--stacks] [--export]]
                     [--empty-callback WAIT,WARMUP,ACTIVE]

OUT.json gets three lists: the ends of steps on the wall's clock, on that of the process's CPU
time, all threads together, and on that of this thread's. gpt is the demo's model, tiny a recurrent net of many small operators,
conv a convolution net whose data a worker loads; the others are steps of twenty thousand
tiny calls, in which the cost of one event shows plainly (on a GPU: as many tiny kernels, or
allocations; a step ends when the device has done its work). --torch-profiler runs PyTorch's own
profiler by that schedule, to compare with; --memory: tensor memory too; --export: a file for
each window; --stacks: Python stacks. --empty-callback: with torch_driver.so preloaded, a
callback of torch's that does nothing is there in the same steps. A step's time includes everything that the profiler does at its end.
"""

import argparse
import contextlib
import ctypes
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


def tiny_step(device="cpu"):
    """A cell written by hand over 40 moments: some two thousand operators of a microsecond or two."""
    from torch import nn

    width, moments, batch = 48, 40, 8
    gates = nn.Linear(2 * width, 4 * width).to(device)
    head = nn.Linear(width, 1).to(device)
    optimizer = torch.optim.Adam(list(gates.parameters()) + list(head.parameters()), lr=1e-3)
    data = torch.randn(64, moments, batch, width, device=device)

    def step(at):
        state = memory = torch.zeros(batch, width, device=device)
        for moment in data[at % len(data)]:
            keep, take, show, new = gates(torch.cat((moment, state), 1)).chunk(4, 1)
            memory = torch.sigmoid(keep) * memory + torch.sigmoid(take) * torch.tanh(new)
            state = torch.sigmoid(show) * torch.tanh(memory)
        loss = (head(state) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


class Pictures(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, at):
        return torch.full((3, 32, 32), at % 7 / 7.0), at % 10


def conv_step(device="cpu"):
    from torch import nn

    layers, channels = [], 3
    for wide in (16, 32, 64):
        layers += [nn.Conv2d(channels, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(),
                   nn.Conv2d(wide, wide, 3, padding=1), nn.BatchNorm2d(wide), nn.ReLU(),
                   nn.MaxPool2d(2)]
        channels = wide
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 16, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    batches = iter(torch.utils.data.DataLoader(Pictures(), batch_size=16, num_workers=1))

    def step(_):
        x, wanted = next(batches)
        loss = nn.functional.cross_entropy(model(x.to(device)), wanted.to(device))
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
    "tiny": tiny_step,
    "conv": conv_step,
    # Two operator events a call, no tensor is allocated.
    "relu": lambda device: calls_step(torch.zeros(4, device=device).relu_, device),
    # One operator event, one allocation and one release.
    "empty": lambda device: calls_step(lambda: torch.empty(4, device=device), device),
}


def switch(schedule):
    """A function of the step's number that adds an empty callback where the schedule records."""
    if not schedule:
        return lambda at: None
    wait, warmup, active = map(int, schedule.split(","))
    driver = ctypes.CDLL(os.environ["LD_PRELOAD"])
    nothing, empty = 0, 1

    def set_callback(at):
        place = at % (wait + warmup + active)
        if place == 0:
            driver.driver_mode(nothing)
        elif place == wait + warmup:
            driver.driver_mode(empty)

    return set_callback


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--work", choices=WORKS, default="gpt")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--torch-profiler")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--export", action="store_true")
    parser.add_argument("--empty-callback")
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
            activities=activities, profile_memory=args.memory, with_stack=args.stacks,
            on_trace_ready=(lambda p: p.export_chrome_trace(args.out + ".trace.json"))
            if args.export else None,
            schedule=torch.profiler.schedule(wait=wait, warmup=warmup, active=active))
    set_callback = switch(args.empty_callback)
    wall, cpu, own = [], [], []
    with profiler as running:
        for at in range(args.steps):
            set_callback(at)
            step(at)
            if args.device == "cuda":
                torch.cuda.synchronize()
            if running is not None:
                running.step()
            wall.append(time.perf_counter_ns())
            cpu.append(time.process_time_ns())
            own.append(time.thread_time_ns())
    with open(args.out, "w") as file:
        json.dump([wall, cpu, own], file)


if __name__ == "__main__":
    main()
