# SPDX-License-Identifier: Apache-2.0
"""Attention head by head and sample by sample, as the formula in the paper reads."""
# expect: cause=small-operators where=attend|ops_head_loop.py
import torch
import torch.nn as nn
import torch.nn.functional as F
from parts import PLANTED, STEPS

HEADS, WIDTH, LENGTH = 8, 64, 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def attend(self, q, k, v):
        size = WIDTH // HEADS
        outputs = []
        for b in range(q.shape[0]):
            heads = []
            for h in range(HEADS):
                part = slice(h * size, (h + 1) * size)
                scores = q[b][:, part] @ k[b][:, part].T
                scores = scores / size ** 0.5
                heads.append(F.softmax(scores, dim=-1) @ v[b][:, part])
            outputs.append(torch.cat(heads, dim=-1))
        return torch.stack(outputs)

    def forward(self, x):
        q, k, v = self.q(x), self.k(x), self.v(x)
        if PLANTED:
            return x + self.attend(q, k, v)
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in (q, k, v))
        return x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


net = nn.Sequential(Attention(), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1024), nn.GELU(),
                    nn.Linear(1024, WIDTH))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
for i in range(STEPS):
    batch = torch.randn(24, LENGTH, WIDTH)
    loss = F.mse_loss(net(batch), batch)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
