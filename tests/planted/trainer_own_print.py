# SPDX-License-Identifier: Apache-2.0
"""A Trainer class of the script's own, whose progress report is a table formatted anew in each step."""
# expect: cause=host-code where=report|table
import argparse
import sys

import torch
from parts import PLANTED, STEPS, Net, batches


class Trainer:
    def __init__(self, options):
        self.options = options
        self.model = Net(width=options.width)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=options.lr)
        self.losses = []

    def report(self):
        rows = [f"| {i:6d} | {loss:10.6f} | {loss / (i + 1):10.6f} |"
                for i, loss in enumerate((self.losses * 4000)[-4000:])]
        text = "\n".join(row.center(100) for row in rows)
        if len(text) < 10:
            print(text, file=sys.stderr)

    def train_step(self, batch):
        x, y = batch
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())

    def fit(self, loader):
        for batch in loader:
            self.train_step(batch)
            if self.options.verbose:
                self.report()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=640)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--verbose", type=int, default=int(PLANTED))
    Trainer(parser.parse_args()).fit(batches(96, STEPS))


if __name__ == "__main__":
    main()
