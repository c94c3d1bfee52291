# SPDX-License-Identifier: Apache-2.0
"""Transformers' Trainer: a callback counts words of a report in Python after each step."""
# expect: cause=host-code,host-bound where=on_step_end|count_words|gpu_trainer_metrics.py
# needs: cuda, transformers, accelerate
import os
import tempfile

import torch
import transformers
from torch import nn
from parts_gpu import DEVICE, INPUTS, IS_GPU, ROWS, STEPS, Net, autocast, often, one_batch

os.environ["HF_HUB_OFFLINE"] = "1"
BATCH = 16


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, labels):
        logits = self.net(x.flatten(0, 1))
        return {"loss": nn.functional.cross_entropy(logits, labels.flatten()), "logits": logits}


class Rows(torch.utils.data.Dataset):
    x = torch.randn(64, ROWS // BATCH, INPUTS)

    def __len__(self):
        return STEPS * BATCH

    def __getitem__(self, at):
        return {"x": self.x[at % 64], "labels": torch.full((ROWS // BATCH,), at % 16)}


def count_words(words):
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


class Report(transformers.TrainerCallback):
    words = ["word%d" % (at % 97) for at in range(1000)]
    n = 0

    def on_step_end(self, args, state, control, **kwargs):
        for _ in range(self.n):
            count_words(self.words)


torch.manual_seed(0)
model = Classifier().to(DEVICE)
x, y = one_batch()


def backward():
    with autocast():
        model(x[None], y[None])["loss"].backward()


report = Report()
report.n = often(lambda: count_words(report.words), backward)
model.zero_grad()
args = transformers.TrainingArguments(
    output_dir=tempfile.mkdtemp(), max_steps=STEPS, per_device_train_batch_size=BATCH, use_cpu=not IS_GPU,
    bf16=True, optim="adamw_torch_fused", report_to=[], save_strategy="no", logging_strategy="no",
    disable_tqdm=True, dataloader_num_workers=0)
transformers.Trainer(model=model, args=args, train_dataset=Rows(), callbacks=[report]).train()
