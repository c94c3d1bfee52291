# SPDX-License-Identifier: Apache-2.0
"""All predictions are gathered as Python objects in each step."""
# expect: cause=communication,host-code where=comm_gather_object.py
# run: torchrun 2
import torch.distributed as dist
from parts import PLANTED, Net, batches, join, learn, leave, parallel

join()
model, optimizer = parallel(Net(width=256))


def gather(x):
    out = [None] * dist.get_world_size()
    dist.all_gather_object(out, x.tolist() * 4)
    return out


for x, y in batches(32):
    learn(model, optimizer, x, y)
    if PLANTED:
        gather(x)
leave()
