# SPDX-License-Identifier: Apache-2.0
"""A recurrent cell in Python, one step of time after the other: launches are all that it does."""
# expect: cause=host-bound where=forward|gpu_python_cells.py
# needs: cuda
import torch
from torch import nn
from parts_gpu import DEVICE, IS_GPU, PLANTED, STEPS

LENGTH, WIDE, MANY = (96, 1024, 256) if IS_GPU else (6, 32, 16)


class Recurrent(nn.Module):
    def __init__(self, n_in=64, width=256):
        super().__init__()
        self.width = width
        self.of_input, self.of_state = nn.Linear(n_in, 2 * width), nn.Linear(width, 2 * width)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], self.width)
        for at in range(x.shape[1]):
            gate, new = (self.of_input(x[:, at]) + self.of_state(state)).chunk(2, -1)
            gate = torch.sigmoid(gate)
            state = gate * state + (1 - gate) * torch.tanh(new)
        return state


class Whole(nn.Module):
    """The same by cuDNN, wide enough to keep the device busy."""

    def __init__(self, n_in=64, width=WIDE):
        super().__init__()
        self.lstm = nn.LSTM(n_in, width, num_layers=3, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
model = nn.Sequential(Recurrent(), nn.Linear(256, 1)) if PLANTED else nn.Sequential(
    Whole(), nn.Linear(WIDE, 1))
model.to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=IS_GPU)
x = torch.randn(64 if PLANTED else MANY, LENGTH, 64, device=DEVICE)
for _ in range(STEPS):
    loss = (model(x).squeeze(-1) - x.mean((1, 2))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
