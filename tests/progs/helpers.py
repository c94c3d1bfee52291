#!/usr/bin/env python3
"""helpers.py - a training that starts many short-lived processes in its steps

usage: helpers.py SPAWNS FORKS

SPAWNS times a shell that starts another program, FORKS times a child of fork that ends at once, some of
them by exec, and a few interpreters that do nothing. Prints how many of all ended well.
"""

import os
import subprocess
import sys

import torch
from torch import nn

n_spawns, n_forks = int(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(1)
model = nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
good = 0


def train():
    model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def fork(at):
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if at % 3 == 0:
        os.execv("/bin/true", ["true"])
    os._exit(0)


for at in range(max(n_spawns, n_forks)):
    if at % 20 == 0:
        train()
    if at < n_spawns:
        good += subprocess.run(["sh", "-c", "true; /bin/true"]).returncode == 0
    if at < n_forks:
        good += fork(at) == 0
for _ in range(3):
    good += subprocess.run([sys.executable, "-S", "-c", "pass"]).returncode == 0
print(good)
