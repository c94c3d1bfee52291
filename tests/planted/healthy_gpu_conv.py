# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: convolutions in channels_last, images of workers through pinned memory."""
# expect: healthy
# needs: cuda
import torch
from torch import nn
from parts_gpu import DEVICE, IS_GPU, STEPS, autocast, to_device

BATCH, SIZE, WIDTH = (128, 96, 128) if IS_GPU else (2, 8, 4)


class Images(torch.utils.data.IterableDataset):
    def __iter__(self):
        images = torch.randint(256, (BATCH, 3, SIZE, SIZE), dtype=torch.uint8)
        for at in range(STEPS):
            yield images, torch.arange(BATCH).add(at) % 10


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
                                  nn.ReLU(), nn.Conv2d(width, width, 3, padding=1, bias=False),
                                  nn.BatchNorm2d(width))

    def forward(self, x):
        return torch.relu(x + self.body(x))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model = nn.Sequential(nn.Conv2d(3, WIDTH, 3, stride=2, padding=1), *(Residual(WIDTH) for _ in range(5)),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, 10))
    model.to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = torch.utils.data.DataLoader(Images(), batch_size=None, num_workers=1, pin_memory=IS_GPU)
    for batch in loader:
        images, labels = to_device(batch)
        with autocast():
            images = images.float().div(255).contiguous(memory_format=torch.channels_last)
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
