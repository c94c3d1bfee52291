# SPDX-License-Identifier: Apache-2.0
"""Lightning: a hook reads the norms of gradients one by one, for a log."""
# expect: cause=synchronising where=on_after_backward|gpu_lightning_norms.py
# needs: cuda, lightning
import logging

import lightning
import torch
from torch import nn
from parts_gpu import DEVICE, IS_GPU, STEPS, Batches, Net, autocast, often, one_batch

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.norms, self.n_rows = Net(), {}, 0

    def training_step(self, batch, at):
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def on_after_backward(self):
        if self.n_rows:
            for row in range(self.n_rows):
                self.norms[row] = self.net.body[0].up.weight.grad[row].norm().item()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-4, fused=IS_GPU)


torch.manual_seed(0)
model = Classifier().to(DEVICE)
batch = one_batch()


def backward():
    with autocast():
        model.training_step(batch, 0).backward()


def norm():
    return model.net.body[0].up.weight.grad[0].norm().item()


backward()
model.n_rows = often(norm, backward)
model.zero_grad()
data = torch.utils.data.DataLoader(Batches(n=STEPS), batch_size=None, pin_memory=IS_GPU)
lightning.Trainer(max_epochs=1, accelerator="gpu" if IS_GPU else "cpu", devices=1, precision="bf16-mixed",
                  logger=False, enable_checkpointing=False, enable_progress_bar=False,
                  enable_model_summary=False).fit(model, data)
