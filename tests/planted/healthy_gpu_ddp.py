# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: DistributedDataParallel by NCCL, of a single rank."""
# expect: healthy
# run: torchrun 1
# needs: cuda
import torch.distributed as dist
from torch import nn
from parts_gpu import IS_GPU, batches, learn, parts

dist.init_process_group("nccl" if IS_GPU else "gloo")
model, optimizer = parts()
model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
for x, y in batches():
    learn(model, optimizer, x, y)
dist.barrier()
dist.destroy_process_group()
