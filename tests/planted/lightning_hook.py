# SPDX-License-Identifier: Apache-2.0
"""Lightning: a callback writes all weights as text after every tenth batch."""
# expect: cause=periodic where=every 10|dump|lightning_hook.py
# needs: lightning
import logging

import lightning
import torch
from torch import nn
from parts import PLANTED, STEPS, Batches, Net

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Dump(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, at):
        if PLANTED and at % 10 == 9:
            for p in module.parameters():
                text = " ".join("%.4f" % value for value in p.detach().flatten()[:60000].tolist())
                del text


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net(width=512)

    def training_step(self, batch, at):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


data = torch.utils.data.DataLoader(Batches(128, STEPS * 2), batch_size=None)
lightning.Trainer(max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False,
                  enable_progress_bar=False, enable_model_summary=False,
                  callbacks=[Dump()]).fit(Classifier(), data)
