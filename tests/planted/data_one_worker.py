# SPDX-License-Identifier: Apache-2.0
"""One worker, whose samples wait for a disk: several could wait at once."""
# expect: cause=data-loading where=__getitem__|Stored|num_workers
import time

import torch
from parts import PLANTED, STEPS, Rows, learn, parts


class Stored(Rows):
    def __getitem__(self, at):
        time.sleep(0.001)
        return super().__getitem__(at)


if __name__ == "__main__":
    model, optimizer = parts()
    loader = torch.utils.data.DataLoader(Stored(STEPS * 16), batch_size=16,
                                         num_workers=1 if PLANTED else 6)
    for x, y in loader:
        learn(model, optimizer, x, y)
