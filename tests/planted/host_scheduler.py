# SPDX-License-Identifier: Apache-2.0
"""A schedule of the learning rate that is computed anew from the begin in each step."""
# expect: cause=host-code where=rate_at|host_scheduler.py
import math

import torch
from parts import PLANTED, batches, learn, parts


def rate_at(step):
    rate = 1.0
    for i in range(30000 if PLANTED else 10):
        rate = 0.5 + 0.5 * math.cos(rate * i / 30000)
    return rate + step * 0


model, optimizer = parts()
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_at)
for x, y in batches():
    learn(model, optimizer, x, y)
    schedule.step()
