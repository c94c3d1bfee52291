# SPDX-License-Identifier: Apache-2.0
"""Hooks that look at activations are registered again in each step."""
# expect: cause=step-growth where=watch|look|growth_hooks.py
from torch import nn
from parts import PLANTED, STEPS, batches, learn, parts

seen = {}


def look(module, _, out):
    seen[module] = (out.norm(), out.abs().max(), out.std())


def watch(model):
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(look)


model, optimizer = parts(width=256)
for x, y in batches(steps=STEPS * 2):
    if PLANTED:
        watch(model)
    learn(model, optimizer, x, y)
