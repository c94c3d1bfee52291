#!/usr/bin/env python3
"""train_and_end.py - a small training that ends, or suffers, in the way it is told

usage: train_and_end.py HOW [--steps N] [--at N] [--pause MILLISECONDS]

HOW, done in step --at:
  normal      nothing special             exit:N      sys.exit(N)
  _exit:N     os._exit(N)                 raise       an exception that nobody catches
  kill:NAME   a signal to itself          worker      one DataLoader worker is killed
  rmtree:DIR  that folder is removed      fill:PATH   a file there is written until the disk is full
  exec        another program replaces it fork        a child trains two steps more and leaves
  thread      a thread is inside an operator when the process leaves
"""

import argparse
import os
import shutil
import signal
import sys
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def fill(path):
    try:
        with open(path, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
    except OSError:
        pass


def suffer(how, loader_iterator, model):
    what, _, value = how.partition(":")
    if what == "exit":
        sys.exit(int(value))
    elif what == "_exit":
        os._exit(int(value))
    elif what == "raise":
        raise ValueError("the loss is not a number")
    elif what == "kill":
        os.kill(os.getpid(), getattr(signal, value))
    elif what == "worker":
        os.kill(loader_iterator._workers[0].pid, signal.SIGKILL)
    elif what == "rmtree":
        shutil.rmtree(value)
    elif what == "fill":
        fill(value)
    elif what == "exec":
        os.execv("/bin/sh", ["sh", "-c", "echo another program; exit 5"])
    elif what == "fork":
        child = os.fork()
        if child == 0:
            model(torch.ones(1, 16))
            os._exit(0)
        print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    elif what == "thread":
        def work():
            a = torch.ones(64, 64)
            while True:
                a = a.mm(a).clamp(0, 1)
        threading.Thread(target=work, daemon=True).start()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("how")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--at", type=int, default=9)
    parser.add_argument("--pause", type=int, default=0, help="ms between steps")
    args = parser.parse_args()
    torch.manual_seed(11)
    torch.set_num_threads(1)
    x = torch.randn(args.steps * 8, 16)
    loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), 8,
                        num_workers=2 if args.how == "worker" else 0)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    batches = iter(loader)
    for step, (batch, wanted) in enumerate(batches):
        if step == args.at:
            suffer(args.how, batches, model)
        loss = F.mse_loss(model(batch), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.8f}", flush=True)
        time.sleep(args.pause / 1e3)
    print("trained", flush=True)


if __name__ == "__main__":
    main()
