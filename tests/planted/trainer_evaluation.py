# SPDX-License-Identifier: Apache-2.0
"""Transformers' Trainer: an evaluation after every tenth step."""
# expect: cause=periodic where=evaluat
# needs: transformers, accelerate
import tempfile

import torch
import transformers
from parts import PLANTED, STEPS
from parts_trainer import Classifier, Named

args = transformers.TrainingArguments(
    output_dir=tempfile.mkdtemp(), max_steps=STEPS, per_device_train_batch_size=64, use_cpu=True,
    eval_strategy="steps" if PLANTED else "no", eval_steps=10, report_to=[], save_strategy="no",
    logging_strategy="no", disable_tqdm=True, dataloader_num_workers=0)
torch.manual_seed(0)
transformers.Trainer(model=Classifier(512), args=args, train_dataset=Named(STEPS * 64),
                     eval_dataset=Named(1600)).train()
