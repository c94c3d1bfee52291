# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a transformer in bfloat16, whose loss is read every eighth step."""
# expect: healthy
# needs: cuda
import torch
from torch import nn
from parts_gpu import DEVICE, IS_GPU, STEPS, autocast, to_device

WORDS, LENGTH, BATCH, WIDTH, HEAD, LAYERS = (8192, 1024, 12, 1024, 64, 8) if IS_GPU else (64, 8, 2, 32, 8, 1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (WIDTH // HEAD, HEAD)).transpose(1, 2)
                   for part in self.qkv(self.before(x)).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.after(x))


class Text(torch.utils.data.Dataset):
    text = torch.randint(WORDS, (1 << 20,))

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, at):
        at = at * 997 % (len(self.text) - LENGTH - 1)
        return self.text[at:at + LENGTH], self.text[at + 1:at + LENGTH + 1]


torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(WORDS, WIDTH), *(Layer() for _ in range(LAYERS)), nn.LayerNorm(WIDTH),
                      nn.Linear(WIDTH, WORDS)).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=IS_GPU)
loader = torch.utils.data.DataLoader(Text(), batch_size=BATCH, num_workers=1, pin_memory=IS_GPU)
for at, batch in enumerate(loader):
    x, y = to_device(batch)
    with autocast():
        loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if at % 8 == 0:
        print("step %d: %.3f" % (at, loss.item()))
