# SPDX-License-Identifier: Apache-2.0
"""torch.profiler was left on for the whole training."""
# expect: cause=profiler where=torch.profiler.profile
import contextlib

import torch
from parts import PLANTED, batches, learn, parts

model, optimizer = parts(width=256)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True, with_stack=True,
                            profile_memory=True) if PLANTED else contextlib.nullcontext():
    for x, y in batches(64):
        learn(model, optimizer, x, y)
