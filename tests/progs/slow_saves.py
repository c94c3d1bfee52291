# SPDX-License-Identifier: Apache-2.0
"""slow_saves.py [LEDGER FACT] - trains; every tenth step saves, which takes several steps' time and asks for no
operator. With arguments it is killed behind the last step, as soon as the ledger has a fact of that name, or one
that begins so: a minute later at most."""
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


def await_fact(path, fact):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open(path, encoding="utf-8") as ledger:
            if f"\n#fact {fact}" in ledger.read():
                return
        time.sleep(0.2)


main()
if sys.argv[1:]:
    await_fact(*sys.argv[1:])
    os.kill(os.getpid(), signal.SIGKILL)
