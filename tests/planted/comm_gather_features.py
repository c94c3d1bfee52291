# SPDX-License-Identifier: Apache-2.0
"""The features of each layer are gathered from all ranks in each step, for a statistic."""
# expect: cause=communication where=comm_gather_features.py
# run: torchrun 2
import torch
import torch.distributed as dist
from parts import PLANTED, Net, batches, join, learn, leave, parallel


def spread(features):
    parts = [torch.empty_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, features)
    return torch.cat(parts).std()


join()
model, optimizer = parallel(Net(width=256, layers=8))
features = []
for layer in model.module.body:
    layer.register_forward_hook(lambda layer, inputs, output: features.append(output.detach()))
for x, y in batches(224):
    features.clear()
    learn(model, optimizer, x, y)
    if PLANTED:
        for _ in range(2):
            spreads = [spread(part) for part in features]
leave()
