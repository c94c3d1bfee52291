# SPDX-License-Identifier: Apache-2.0
"""A thread that watches things in Python takes the interpreter's lock from the training."""
# expect: cause=lock,host-code where=watch|cores_lock.py
import threading

import torch
from torch import nn
from parts import PLANTED, STEPS, batches, learn

stopping = threading.Event()


def watch():
    seen = 0
    while not stopping.is_set():
        for i in range(1000):
            seen = (seen * 31 + i) % 1000003


model = nn.Sequential(nn.Linear(256, 64), *(nn.Sequential(nn.Linear(64, 64), nn.ReLU())
                                            for _ in range(12)), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
if PLANTED:
    threading.Thread(target=watch, daemon=True).start()
for x, y in batches(steps=STEPS * 4):
    learn(model, optimizer, x, y)
stopping.set()
