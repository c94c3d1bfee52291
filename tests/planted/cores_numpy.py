# SPDX-License-Identifier: Apache-2.0
"""Singular values are looked at with NumPy in each step: its BLAS and torch have threads for all cores each."""
# expect: cause=threads where=OPENBLAS_NUM_THREADS
import numpy as np

from parts import PLANTED, batches, learn, parts


def spectrum(weight):
    return np.linalg.svd(weight.detach().numpy()[:192, :192], compute_uv=False)


model, optimizer = parts(width=512)
largest = []
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        largest.append(spectrum(model.body[1][0].weight)[0])
