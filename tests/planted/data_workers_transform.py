# SPDX-License-Identifier: Apache-2.0
"""Two workers, and a transform in Python that keeps both of them busy."""
# expect: cause=data-loading where=jitter|__getitem__
import torch
from parts import PLANTED, STEPS, Rows, learn, parts


def jitter(x):
    out = x.tolist()
    for _ in range(30):
        out = [v * 0.99 + 0.01 for v in out]
    return torch.tensor(out)


class Augmented(Rows):
    def __getitem__(self, at):
        x, y = super().__getitem__(at)
        return jitter(x) if PLANTED else x, y


if __name__ == "__main__":
    model, optimizer = parts()
    loader = torch.utils.data.DataLoader(Augmented(STEPS * 64), batch_size=64, num_workers=2)
    for x, y in loader:
        learn(model, optimizer, x, y)
