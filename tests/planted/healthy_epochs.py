# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: epochs with an evaluation that is short beside them."""
# expect: healthy
import torch
from parts import Batches, learn, parts

model, optimizer = parts()
held = torch.randn(2, 128, 256)
for epoch in range(3):
    for x, y in torch.utils.data.DataLoader(Batches(128, 30), batch_size=None):
        learn(model, optimizer, x, y)
    model.eval()
    with torch.no_grad():
        right = sum(int((model(x).argmax(1) == 0).sum()) for x in held)
    model.train()
