# SPDX-License-Identifier: Apache-2.0
"""One thread computes, as where OMP_NUM_THREADS is 1, and the other cores are idle."""
# expect: cause=few-threads where=.
import torch
from parts import PLANTED, batches, learn, parts

if PLANTED:
    torch.set_num_threads(1)
model, optimizer = parts(width=1024)
for x, y in batches(256):
    learn(model, optimizer, x, y)
