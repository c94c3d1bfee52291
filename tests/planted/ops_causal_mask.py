# SPDX-License-Identifier: Apache-2.0
"""Attention whose mask of past positions, and their distances, are computed in each layer again."""
# expect: cause=hot-line where=mask|ops_causal_mask.py
import torch
from torch import nn
from parts import PLANTED, STEPS

LENGTH, WIDTH, HEADS = 512, 32, 2


def make_mask():
    at = torch.arange(LENGTH, dtype=torch.float32)
    far = torch.log1p((at[:, None] - at[None, :]).abs()).pow(1.5)
    slope = torch.tensor([2.0 ** -i for i in range(HEADS)])[:, None, None]
    past = torch.full((LENGTH, LENGTH), float("-inf")).triu(1)
    return past - far * slope


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.three, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", make_mask())

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.three(x).chunk(3, -1))
        mask = make_mask() if PLANTED else self.mask
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return x + self.out(y.transpose(1, 2).flatten(2))


torch.manual_seed(0)
model = nn.Sequential(*(Block() for _ in range(4)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for _ in range(STEPS):
    loss = model(torch.randn(1, LENGTH, WIDTH)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
