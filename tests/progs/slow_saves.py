# SPDX-License-Identifier: Apache-2.0
"""Trains; every tenth step saves, which takes several steps' time and asks for no operator. With an
argument it is killed some seconds behind the last step."""
import os
import signal
import sys
import time

import torch

torch.manual_seed(1)
net = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def wait(seconds):
    time.sleep(seconds)


def save(step):
    wait(0.6)


def main():
    for step in range(58):
        loss = net(torch.randn(4, 16)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.08)
        if step > 10 and step % 10 == 9:
            save(step)
    print("%.9f" % loss.item())


main()
if sys.argv[1:]:
    time.sleep(4)
    os.kill(os.getpid(), signal.SIGKILL)
