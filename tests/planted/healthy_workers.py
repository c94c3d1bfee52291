# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a loader with two workers that are fast enough."""
# expect: healthy
import torch
from parts import STEPS, Rows, learn, parts

if __name__ == "__main__":
    model, optimizer = parts(width=1024)
    loader = torch.utils.data.DataLoader(Rows(STEPS * 64), batch_size=64, num_workers=2,
                                         persistent_workers=True)
    for x, y in loader:
        learn(model, optimizer, x, y)
