# SPDX-License-Identifier: Apache-2.0
"""Histograms of all weights by numpy in each step."""
# expect: cause=host-code where=histograms|host_histogram.py
import numpy as np
from parts import PLANTED, batches, learn, parts


def histograms(model):
    return {name: np.histogram(value.detach().numpy(), bins=64)
            for name, value in model.named_parameters()}


model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        histograms(model)
