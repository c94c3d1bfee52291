# SPDX-License-Identifier: Apache-2.0
"""A thread of the program's own tokenizes the next texts in Python while the step runs."""
# expect: cause=lock,host-code where=thread|cores_prefetch.py
import queue
import threading

import torch
from torch import nn
from parts import PLANTED, STEPS, learn

TEXT = ("the quick brown fox jumps over the lazy dog " * 400).split()
ready = queue.Queue(maxsize=1000000)


def tokenize():
    numbers = {}
    while True:
        ready.put([numbers.setdefault(word, len(numbers)) for word in TEXT for _ in "ab"][:8])


model = nn.Sequential(nn.Linear(256, 64), *(nn.Sequential(nn.Linear(64, 64), nn.Tanh())
                                            for _ in range(16)), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
if PLANTED:
    threading.Thread(target=tokenize, daemon=True).start()
x, y = torch.randn(128, 256), torch.randint(10, (128,))
for _ in range(STEPS * 4):
    learn(model, optimizer, x, y)
