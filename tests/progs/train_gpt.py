#!/usr/bin/env python3
"""train_gpt.py - trains a small character-level GPT on the sources of Python's library

usage: train_gpt.py [--steps N] [--epochs N] [--workers N] [--size small|tiny] [--seed N] [--threads N]

An ordinary training script: it knows nothing of any profiler. AdamW, a DataLoader with worker
processes, two epochs, an evaluation after each. What it prints depends on the seed and the
text only, not on time, so two runs can be compared byte by byte.
"""

import argparse
import glob
import os
import sysconfig

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

SIZES = {
    # layers, heads, width, context, batch
    "small": (6, 6, 192, 64, 8),
    "tiny": (2, 2, 64, 32, 8),
}
TEXT_BYTES = 2 << 20


def read_text():
    """Python's own sources: real text that every machine with Python has."""
    parts, n_bytes = [], 0
    for path in sorted(glob.glob(os.path.join(sysconfig.get_paths()["stdlib"], "*.py"))):
        with open(path, encoding="ascii", errors="ignore") as file:
            parts.append(file.read())
        n_bytes += len(parts[-1])
        if n_bytes > TEXT_BYTES:
            break
    return "".join(parts)[:TEXT_BYTES]


class Characters(Dataset):
    """Windows of the text: `context` characters and the same shifted by one."""

    def __init__(self, data, context, n_items, seed):
        self.data, self.context = data, context
        generator = torch.Generator().manual_seed(seed)
        self.begins = torch.randint(len(data) - context - 1, (n_items,), generator=generator)

    def __len__(self):
        return len(self.begins)

    def __getitem__(self, at):
        begin = self.begins[at]
        window = self.data[begin : begin + self.context + 1]
        return window[:-1], window[1:]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project_in = nn.Linear(width, 3 * width)
        self.project_out = nn.Linear(width, width)

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = (
            part.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
            for part in self.project_in(x).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project_out(y.transpose(1, 2).reshape(batch, time, width))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, n_symbols, layers, heads, width, context):
        super().__init__()
        self.symbol = nn.Embedding(n_symbols, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_symbols, bias=False)

    def forward(self, x, wanted):
        places = torch.arange(x.shape[1], device=x.device)
        logits = self.head(self.norm(self.blocks(self.symbol(x) + self.place(places))))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), wanted.reshape(-1))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    losses = [model(x, wanted).item() for x, wanted in loader]
    model.train()
    return sum(losses) / len(losses)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100, help="steps of an epoch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    args = parser.parse_args()
    layers, heads, width, context, batch = SIZES[args.size]
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)

    text = read_text()
    symbols = sorted(set(text))
    number = {symbol: at for at, symbol in enumerate(symbols)}
    data = torch.tensor([number[symbol] for symbol in text])
    cut = len(data) * 9 // 10
    train = DataLoader(Characters(data[:cut], context, args.steps * batch, args.seed), batch,
                       shuffle=True, num_workers=args.workers)
    test = DataLoader(Characters(data[cut:], context, 8 * batch, args.seed), batch)

    model = GPT(len(symbols), layers, heads, width, context)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    n_weights = sum(p.numel() for p in model.parameters())
    print(f"{len(text)} characters, {len(symbols)} symbols, {n_weights} weights", flush=True)

    for epoch in range(args.epochs):
        for step, (x, wanted) in enumerate(train):
            loss = model(x, wanted)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if (step + 1) % 20 == 0:
                print(f"epoch {epoch} step {step + 1} loss {loss.item():.6f}", flush=True)
        print(f"epoch {epoch} evaluation {evaluate(model, test):.6f}", flush=True)


if __name__ == "__main__":
    main()
