# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: small layers, whose launches are one CUDA graph."""
# expect: healthy
# needs: cuda
import torch
from parts_gpu import DEVICE, IS_GPU, ROWS, WIDTH, batches, learn, one_batch, parts, synchronize

model, optimizer = parts(width=WIDTH // 4, layers=32)
x, y = one_batch(ROWS)
loss = None


def gradients():
    with torch.autocast(DEVICE, torch.bfloat16, cache_enabled=False):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    return loss


graph = None
if IS_GPU:
    side = torch.cuda.Stream()
    synchronize()
    with torch.cuda.stream(side):
        for _ in range(3):
            learn(model, optimizer, x, y)
    synchronize()
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = gradients()
for at, (new_x, new_y) in enumerate(batches()):
    x.copy_(new_x)
    y.copy_(new_y)
    if graph:
        graph.replay()
    else:
        optimizer.zero_grad()
        loss = gradients()
    optimizer.step()
    if at % 8 == 0:
        print("%.3f" % loss.item())
