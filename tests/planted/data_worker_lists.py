# SPDX-License-Identifier: Apache-2.0
"""Workers hand over nested lists of numbers of Python's, which the training process unpickles."""
# expect: cause=data-loading,host-code where=handing|data_worker_lists.py|collate|tensor
import torch
from torch.utils.data import DataLoader, Dataset, default_collate
from parts import PLANTED, STEPS, learn, parts


class Measured(Dataset):
    def __init__(self):
        self.values = [[(i * j) % 13 / 13 for j in range(256)] for i in range(64)]
        if not PLANTED:
            self.values = torch.tensor(self.values)
        self.raw = [float(i) for i in range(6000)]

    def __len__(self):
        return STEPS * 32

    def __getitem__(self, at):
        return self.values[at % 64], at % 10, {"raw": list(self.raw)} if PLANTED else {}


def as_they_are(samples):
    return samples


if __name__ == "__main__":
    model, optimizer = parts(width=1024)
    for samples in DataLoader(Measured(), batch_size=32, num_workers=1,
                              collate_fn=as_they_are if PLANTED else default_collate):
        if PLANTED:
            x, y = (torch.tensor(part) for part in list(zip(*samples))[:2])
        else:
            x, y, _ = samples
        learn(model, optimizer, x, y)
