# SPDX-License-Identifier: Apache-2.0
"""Each of two ranks has as many threads as there are cores."""
# expect: cause=threads where=.
# run: torchrun 2
import os

import torch
from parts import PLANTED, STEPS, Net, batches, join, learn, leave, parallel

join()
cores = len(os.sched_getaffinity(0))
torch.set_num_threads(cores if PLANTED else max(cores // 2, 1))
model, optimizer = parallel(Net())
for x, y in batches(512, steps=STEPS):
    learn(model, optimizer, x, y)
leave()
