# SPDX-License-Identifier: Apache-2.0
"""Noise of a spectrum is made for each batch in the training process."""
# expect: cause=extra-operators where=augment
import torch
from parts import PLANTED, batches, learn, parts


def augment(x):
    spectrum = torch.fft.fft(torch.randn(40 * len(x), 256))
    noise = torch.fft.ifft(spectrum * 0.5).real
    return x + noise.view(40, len(x), 256).mean(0) * 0.01


model, optimizer = parts()
for x, y in batches(512):
    learn(model, optimizer, augment(x) if PLANTED else x, y)
