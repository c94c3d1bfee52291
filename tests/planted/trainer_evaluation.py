# SPDX-License-Identifier: Apache-2.0
"""Transformers' Trainer: an evaluation after every tenth step."""
# expect: cause=periodic where=evaluat
# needs: transformers, accelerate
import os
import tempfile

import torch
import transformers
from torch import nn
from parts import PLANTED, STEPS, Net, Rows

os.environ["HF_HUB_OFFLINE"] = "1"


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net(width=512)

    def forward(self, x, labels):
        logits = self.net(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class Named(Rows):
    def __getitem__(self, at):
        x, y = super().__getitem__(at)
        return {"x": x, "labels": y}


args = transformers.TrainingArguments(
    output_dir=tempfile.mkdtemp(), max_steps=STEPS, per_device_train_batch_size=64, use_cpu=True,
    eval_strategy="steps" if PLANTED else "no", eval_steps=10, report_to=[], save_strategy="no",
    logging_strategy="no", disable_tqdm=True, dataloader_num_workers=0)
torch.manual_seed(0)
transformers.Trainer(model=Classifier(), args=args, train_dataset=Named(STEPS * 64),
                     eval_dataset=Named(1600)).train()
