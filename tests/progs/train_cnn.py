#!/usr/bin/env python3
"""train_cnn.py - a convolutional classifier: SGD, a learning-rate schedule, evaluation in the
middle of an epoch, a DataLoader without workers

usage: train_cnn.py [--steps N] [--epochs N]
"""

import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_images(n_items, seed):
    """Bright squares in one of four corners of a noisy image; the corner is the class."""
    generator = torch.Generator().manual_seed(seed)
    corner = torch.randint(4, (n_items,), generator=generator)
    image = torch.randn(n_items, 1, 16, 16, generator=generator)
    for at, where in enumerate(corner.tolist()):
        row, column = 8 * (where // 2), 8 * (where % 2)
        image[at, :, row : row + 8, column : column + 8] += 0.7
    return TensorDataset(image, corner)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.drop = nn.Dropout(0.1)
        self.classify = nn.Linear(32 * 4 * 4, 4)

    def forward(self, x):
        return self.classify(self.drop(self.features(x).flatten(1)))


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=30, help="steps of an epoch")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(2)
    train = DataLoader(make_images(args.steps * 16, 3), 16, shuffle=True)
    test = DataLoader(make_images(64, 4), 32)

    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for epoch in range(args.epochs):
        for step, (x, y) in enumerate(train):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if step == args.steps // 2:
                print(f"epoch {epoch} middle accuracy {accuracy(model, test):.4f}")
        schedule.step()
        print(f"epoch {epoch} loss {loss.item():.6f} accuracy {accuracy(model, test):.4f}")


if __name__ == "__main__":
    main()
