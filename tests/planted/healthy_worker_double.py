# SPDX-License-Identifier: Apache-2.0
"""A worker prepares large tensors in float64, beside the steps, and gives few numbers as float32."""
# expect: healthy
import torch
from parts import learn, parts

torch.set_num_threads(1)


class Signals(torch.utils.data.Dataset):
    def __init__(self):
        self.signals = torch.rand(64, 25600, dtype=torch.float64)

    def __len__(self):
        return 60 * 8

    def __getitem__(self, at):
        x = self.signals[at % 64]
        x = ((x - x.mean()) / x.std()).clamp(-2, 2)
        return x.view(256, 100).mean(1).float(), at % 10


model, optimizer = parts(width=1200)
for x, y in torch.utils.data.DataLoader(Signals(), 8, num_workers=1):
    learn(model, optimizer, x, y)
