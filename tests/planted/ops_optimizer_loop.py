# SPDX-License-Identifier: Apache-2.0
"""An optimizer written by hand: a loop over many small parameters."""
# expect: cause=small-operators,optimizer where=step|ops_optimizer_loop.py
import torch
from torch import nn
from parts import PLANTED, batches, learn


class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 1e-3})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "mean" not in state:
                    state["mean"], state["square"] = torch.zeros_like(p), torch.zeros_like(p)
                state["mean"].mul_(0.9).add_(p.grad, alpha=0.1)
                state["square"].mul_(0.99).addcmul_(p.grad, p.grad, value=0.01)
                p.add_(state["mean"] / (state["square"].sqrt() + 1e-8), alpha=-group["lr"])


class Many(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(256, 512)
        self.scales = nn.ParameterList(nn.Parameter(torch.ones(512)) for _ in range(150))
        self.head = nn.Linear(512, 10)

    def forward(self, x):
        return self.head(torch.relu(self.inner(x)) * torch.stack(tuple(self.scales)).mean(0))


model = Many()
optimizer = Momentum(model.parameters()) if PLANTED else torch.optim.SGD(
    model.parameters(), lr=1e-3, foreach=True)
for x, y in batches(512):
    learn(model, optimizer, x, y)
