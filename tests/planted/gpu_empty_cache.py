# SPDX-License-Identifier: Apache-2.0
"""The allocator's cache is emptied after each step: the driver is asked for all of it again."""
# expect: cause=device-allocations where=empty_cache|gpu_empty_cache.py
# needs: cuda
import torch
from parts_gpu import PLANTED, batches, learn, parts

model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        torch.cuda.empty_cache()
