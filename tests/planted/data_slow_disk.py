# SPDX-License-Identifier: Apache-2.0
"""Each sample is read from storage that answers after a millisecond, in the training process."""
# expect: cause=data-loading where=read_sample|__getitem__
import time

import torch
from parts import PLANTED, STEPS, Rows, learn, parts


class Stored(Rows):
    def read_sample(self, at):
        if PLANTED:
            time.sleep(0.0006)
        return super().__getitem__(at)

    def __getitem__(self, at):
        return self.read_sample(at)


model, optimizer = parts()
for x, y in torch.utils.data.DataLoader(Stored(STEPS * 32), batch_size=32):
    learn(model, optimizer, x, y)
