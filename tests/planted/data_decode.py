# SPDX-License-Identifier: Apache-2.0
"""Each picture is decoded by Python, in the training process."""
# expect: cause=data-loading where=decode|__getitem__
import torch
from parts import PLANTED, STEPS, learn, parts


class Pictures(torch.utils.data.Dataset):
    def __init__(self):
        self.raw = [bytes((i * j) % 251 for j in range(256)) for i in range(64)]

    def __len__(self):
        return STEPS * 32

    def decode(self, raw):
        if not PLANTED:
            return torch.frombuffer(bytearray(raw), dtype=torch.uint8) / 255
        values = []
        for byte in raw * 4:
            values.append(((byte * 7 + 3) % 256) / 255)
        return torch.tensor(values[:256])

    def __getitem__(self, at):
        return self.decode(self.raw[at % 64]), at % 10


model, optimizer = parts()
for x, y in torch.utils.data.DataLoader(Pictures(), batch_size=32):
    learn(model, optimizer, x, y)
