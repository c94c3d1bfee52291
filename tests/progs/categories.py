#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""categories.py MODEL OPTIMIZER WAY FILE - trains; what torch's own tools say its memory was for

MODEL: gpt, tied, resnet, lstm. OPTIMIZER: adamw, sgd. WAY: plain, checkpoint, fsdp (under torchrun).
Steps 0 to 5 are ordinary, 6 runs under MemTracker (FSDPMemTracker), 7 under torch.profiler. Writes
the bytes by category at the peak of both steps, and what the tracker says of each module, to FILE as
JSON ("{rank}" in FILE: the rank).
"""
import json
import os
import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

STEPS, TRACKED, PROFILED = 8, 6, 7


class Recomputed(nn.Module):
    """What MemTracker takes for activation checkpointing: of a whole module."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=False)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project_in, self.project_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (part.view(b, t, self.heads, w // self.heads).transpose(1, 2)
                   for part in self.project_in(self.norm1(x)).split(w, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project_out(y.transpose(1, 2).reshape(b, t, w))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.symbol = nn.Embedding(256, 128)
        self.blocks = nn.Sequential(*(way(Block(128, 4)) for _ in range(4)))
        self.head = nn.Linear(128, 256)

    def forward(self, x):
        return self.head(self.blocks(self.symbol(x))).flatten(0, 1)

    @staticmethod
    def batch():
        return torch.randint(256, (8, 64)), torch.randint(256, (8 * 64,))


class Tied(GPT):
    """Most of it is one parameter, whose gradient is made in two places, early and late."""

    def __init__(self, way):
        super().__init__(way)
        self.symbol = nn.Embedding(8192, 128)
        self.head = nn.Linear(128, 8192, bias=False)
        self.head.weight = self.symbol.weight

    @staticmethod
    def batch():
        return torch.randint(8192, (1, 16)), torch.randint(8192, (16,))


class Residual(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride=2, padding=1, bias=False)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.around = nn.Conv2d(n_in, n_out, 1, stride=2, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(n_out), nn.BatchNorm2d(n_out)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.around(x) + self.norm2(self.conv2(y)))


class ResNet(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.blocks = nn.Sequential(*(way(Residual(n, 2 * n)) for n in (32, 64, 128)))
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))

    @staticmethod
    def batch():
        return torch.randn(8, 3, 64, 64), torch.randint(10, (8,))


class LSTM(nn.Module):
    def __init__(self, _way):
        super().__init__()
        self.symbol = nn.Embedding(256, 128)
        self.lstm = nn.LSTM(128, 128, num_layers=2, batch_first=True)
        self.head = nn.Linear(128, 256)

    def forward(self, x):
        return self.head(self.lstm(self.symbol(x))[0]).flatten(0, 1)

    batch = staticmethod(GPT.batch)


def at_peak(memory_profile):
    """Bytes by category when most was alive, of torch's memory timeline."""
    alive, most, peak = {}, 0, {}
    categories = memory_profile._categories
    for _, action, (key, version), n_bytes in memory_profile.timeline:
        category = categories.get(key, version)
        name = category.name.lower() if category else "unknown"
        if action.name in ("PREEXISTING", "CREATE"):
            alive[key] = (name, n_bytes)
        elif action.name == "INCREMENT_VERSION":
            later = categories.get(key, version + 1)
            alive[key] = (later.name.lower() if later else "unknown", n_bytes)
        else:
            alive.pop(key, None)
        total = sum(n for _, n in alive.values())
        if total > most:
            most, peak = total, {}
            for name, n in alive.values():
                peak[name] = peak.get(name, 0) + n
    return peak


def by_module(tracker):
    """{module: {state: [bytes by category, of each call]}}"""
    cpu = torch.device("cpu")
    return {stats.mod_fqn: {state.value: [{str(getattr(name, "value", name)): n
                                           for name, n in snapshot.get(cpu, {}).items()}
                                          for snapshot in snapshots]
                            for state, snapshots in stats.snapshots.items()}
            for stats in tracker.memory_tracking.values()}


def main():
    kind, rule, way, path = sys.argv[1:5]
    torch.manual_seed(1)
    model = {"gpt": GPT, "tied": Tied, "resnet": ResNet, "lstm": LSTM}[kind](
        Recomputed if way == "checkpoint" else lambda block: block)
    if way == "fsdp":
        import torch.distributed as dist
        from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
        from torch.distributed.fsdp import fully_shard
        dist.init_process_group("gloo")
        for block in getattr(model, "blocks", ()):
            fully_shard(block)
        fully_shard(model)
    from torch.distributed._tools.mem_tracker import MemTracker
    optimizer = (torch.optim.AdamW(model.parameters(), lr=1e-3) if rule == "adamw" else
                 torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9))

    def step():
        x, wanted = model.batch()
        with torch.profiler.record_function("training_step"):
            loss = F.cross_entropy(model(x), wanted)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    said = {}
    for at in range(STEPS):
        if at == TRACKED:
            if way == "fsdp":
                tracker = FSDPMemTracker(model, optimizer)
                tracker.track_inputs(())
            else:
                tracker = MemTracker()
                tracker.track_external(model, optimizer)
            with tracker:
                step()
            said["tracker"] = {str(getattr(name, "value", name)): n for name, n in
                               tracker.get_tracker_snapshot("peak")[torch.device("cpu")].items()}
            said["modules"] = by_module(tracker)
        elif at == PROFILED and way == "plain":
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                        profile_memory=True, record_shapes=True,
                                        with_stack=True) as profiler:
                step()
            said["timeline"] = at_peak(profiler._memory_profile())
        else:
            step()
    with open(path.replace("{rank}", os.environ.get("RANK", "0")), "w", encoding="utf-8") as file:
        json.dump(said, file)
    if way == "fsdp":
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
