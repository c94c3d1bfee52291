# SPDX-License-Identifier: Apache-2.0
"""A model of sounds, whose first part, without parameters, makes their spectra."""
# expect: healthy
import torch
from parts import STEPS, learn
from torch import nn


class Sounds(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(400))
        self.body = nn.Sequential(nn.Conv1d(201, 128, 5, 2), nn.ReLU(), nn.Conv1d(128, 128, 5, 2), nn.ReLU(),
                                  nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(128, 12))

    def forward(self, x):
        spectrum = torch.stft(x, 400, 160, window=self.window, return_complex=True)
        features = spectrum.abs().clamp(min=1e-5).log()
        return self.body(features)


model = Sounds()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(STEPS):
    learn(model, optimizer, torch.randn(16, 16000), torch.randint(12, (16,)))
