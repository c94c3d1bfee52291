# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a short evaluation after every sixteenth step."""
# expect: healthy
# needs: cuda
import torch
from parts_gpu import autocast, batches, learn, one_batch, parts

model, optimizer = parts()
check, wanted = one_batch()
for at, (x, y) in enumerate(batches()):
    learn(model, optimizer, x, y)
    if at % 16 == 15:
        model.eval()
        with torch.inference_mode(), autocast():
            right = (model(check[:1024]).argmax(1) == wanted[:1024]).float().mean()
        model.train()
        print("after step %d: %.1f %%" % (at, 100 * right.item()))
