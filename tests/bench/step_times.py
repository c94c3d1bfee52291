#!/usr/bin/env python3
"""step_times.py - trains and writes down when each step ended (a child of step_overhead.py)

usage: step_times.py OUT.json --work gpt|ops [--steps N] [--torch-profiler WAIT,WARMUP,ACTIVE]

gpt is the demo's model; ops is a step of twenty thousand tiny operators, in which the cost of
one event shows plainly. --torch-profiler runs PyTorch's own profiler by that schedule, to
compare with. A step's time includes everything that the profiler does at its end.
"""

import argparse
import contextlib
import json
import os
import sys
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "progs"))
OPS_A_STEP = 20000


def gpt_step():
    from train_gpt import GPT

    context, batch = 64, 2
    model = GPT(96, 6, 6, 192, context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(96, (1 << 16,))

    def step(at):
        begins = [(at * batch + i) * 31 % (len(data) - context - 1) for i in range(batch)]
        x = torch.stack([data[b:b + context] for b in begins])
        wanted = torch.stack([data[b + 1:b + context + 1] for b in begins])
        loss = model(x, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def ops_step():
    weight = torch.zeros(4, requires_grad=True)
    weight.grad = torch.zeros(4)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    x = torch.zeros(4)

    def step(_):
        relu = x.relu_
        for _ in range(OPS_A_STEP):
            relu()
        optimizer.step()

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--work", choices=("gpt", "ops"), default="gpt")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--torch-profiler")
    args = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    step = {"gpt": gpt_step, "ops": ops_step}[args.work]()

    profiler = contextlib.nullcontext()
    if args.torch_profiler:
        wait, warmup, active = map(int, args.torch_profiler.split(","))
        profiler = torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU],
            schedule=torch.profiler.schedule(wait=wait, warmup=warmup, active=active))
    ends = []
    with profiler as running:
        for at in range(args.steps):
            step(at)
            if running is not None:
                running.step()
            ends.append(time.perf_counter_ns())
    with open(args.out, "w") as file:
        json.dump(ends, file)


if __name__ == "__main__":
    main()
