# SPDX-License-Identifier: Apache-2.0
"""Lightning: training_step keeps what it returns, with its graph, for the end of the epoch."""
# expect: cause=memory-growth where=lightning_outputs.py|parts.py
# needs: lightning
import logging

import lightning
import torch
from torch import nn
from parts import PLANTED, STEPS, Batches, Net

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.kept = Net(width=384), []

    def training_step(self, batch, at):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        if PLANTED:
            self.kept.append(self.net(batch[0]).square().mean())
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


data = torch.utils.data.DataLoader(Batches(128, STEPS), batch_size=None)
lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False).fit(Classifier(), data)
