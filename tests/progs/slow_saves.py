# SPDX-License-Identifier: Apache-2.0
"""slow_saves.py [LEDGER FACT] - trains; every tenth step saves, which takes several steps' time and asks for no
operator. With arguments it trains on until the ledger has a fact of that name, or one that begins so, a minute
later at most, and is killed then."""
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


def has_fact(path, fact):
    with open(path, encoding="utf-8") as ledger:
        return f"\n#fact {fact}" in ledger.read()


def main(*wanted):
    step = 0
    while step < 58 or (wanted and step < 500 and not has_fact(*wanted)):
        loss = net(torch.randn(4, 16)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        time.sleep(0.08)
        if step > 10 and step % 10 == 9:
            save(step)
        step += 1
    print("%.9f" % loss.item())


main(*sys.argv[1:])
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
