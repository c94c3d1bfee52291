# SPDX-License-Identifier: Apache-2.0
"""flight.py HOW [STEPS]: a small training, each step in a range with its number; step 40 takes a second, and the
next ones are no fast ones either: half a second goes by before it is not among the last eight any more. Then
it ends as HOW says: well (end), by an exception (raise), a status (status), a signal (kill, term, fault)."""

import ctypes
import os
import signal
import sys
import time

import torch

how = sys.argv[1]
n_steps = int(sys.argv[2]) if len(sys.argv) > 2 else 60
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    for step in range(n_steps):
        with torch.profiler.record_function("part %d" % step):
            optimizer.zero_grad()
            model(torch.ones(4, 8)).sum().backward()
            time.sleep(1 if step == 40 else 0.06 if 40 < step < 50 else 0.02)
        optimizer.step()


train()
if how == "raise":
    raise RuntimeError("the end")
if how == "status":
    os._exit(3)
if how == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
if how == "term":
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
if how == "fault":
    ctypes.string_at(0)
