# SPDX-License-Identifier: Apache-2.0
"""Lightning's DDP: a hook of the module evaluates on the first rank alone after every eighth batch."""
# expect: cause=periodic,uneven-ranks where=on_train_batch_end
# run: torchrun 2
# needs: lightning
import logging

import lightning
import torch
from torch import nn
from parts import PLANTED, STEPS, Net, Rows

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.set_num_threads(1)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.held = Net(width=256), torch.randn(2048, 256)

    def training_step(self, batch, at):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def on_train_batch_end(self, outputs, batch, at):
        if PLANTED and at % 8 == 0 and self.global_rank == 0:
            with torch.no_grad():
                for _ in range(8):
                    self.net(self.held)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-2)


data = torch.utils.data.DataLoader(Rows(64 * 4 * STEPS), batch_size=64)
lightning.Trainer(max_epochs=1, accelerator="cpu", strategy="ddp", devices=2, logger=False,
                  enable_checkpointing=False, enable_progress_bar=False,
                  enable_model_summary=False).fit(Classifier(), data)
