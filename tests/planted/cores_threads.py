# SPDX-License-Identifier: Apache-2.0
"""Sixteen threads an operator on few cores."""
# expect: cause=threads where=.
import os

import torch
from parts import PLANTED, batches, learn, parts

torch.set_num_threads(8 * len(os.sched_getaffinity(0)) if PLANTED else
                      len(os.sched_getaffinity(0)))
model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
