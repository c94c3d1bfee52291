# SPDX-License-Identifier: Apache-2.0
"""No DataLoader: a generator of the script's makes each batch with numpy, slowly."""
# expect: cause=host-code,data-loading where=make_batch|batches_of
import numpy as np
import torch
from parts import PLANTED, STEPS, learn, parts

rng = np.random.default_rng(0)
ready = rng.standard_normal((128, 256)).astype(np.float32)


def make_batch():
    if not PLANTED:
        return ready
    rows = []
    for _ in range(128):
        rows.append(np.sort(rng.standard_normal(2560))[::10].astype(np.float32))
    return np.stack(rows)


def batches_of(n):
    for _ in range(n):
        yield torch.from_numpy(make_batch()), torch.randint(10, (128,))


model, optimizer = parts()
for x, y in batches_of(STEPS):
    learn(model, optimizer, x, y)
