#!/usr/bin/env python3
"""world_lightning.py - a Lightning Trainer: two epochs of ten steps, validation in between"""

import logging
import os
import warnings

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import lightning
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def training_step(self, batch, at):
        loss = F.mse_loss(self.net(batch[0]), batch[1])
        print(f"epoch {self.current_epoch} step {at} loss {loss.item():.8f}", flush=True)
        return loss

    def validation_step(self, batch, at):
        print(f"validation {F.mse_loss(self.net(batch[0]), batch[1]).item():.8f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


def main():
    lightning.seed_everything(1, verbose=False)
    x = torch.randn(80, 16)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Regression(), DataLoader(data, 8, shuffle=True), DataLoader(data, 40))


if __name__ == "__main__":
    main()
