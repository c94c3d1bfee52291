# SPDX-License-Identifier: Apache-2.0
"""Buckets so small that each gradient travels alone."""
# expect: cause=communication where=bucket|small
# run: torchrun 2
from torch import nn
from parts import PLANTED, batches, join, learn, leave, parallel

join()
layers = nn.Sequential(nn.Linear(256, 128), *(nn.Sequential(nn.Linear(128, 128), nn.ReLU())
                                              for _ in range(30)), nn.Linear(128, 10))
model, optimizer = parallel(layers, bucket_cap_mb=0.001 if PLANTED else 25)
for x, y in batches(32):
    learn(model, optimizer, x, y)
leave()
