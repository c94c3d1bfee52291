# SPDX-License-Identifier: Apache-2.0
"""Transformers' Trainer: a callback builds a report of the whole history after each step."""
# expect: cause=host-code where=on_step_end|trainer_callback.py
# needs: transformers, accelerate
import json
import tempfile

import torch
import transformers
from parts import PLANTED, STEPS
from parts_trainer import Classifier, Named


class Report(transformers.TrainerCallback):
    history = [{"step": i, "loss": 0.1 * i, "rate": 1e-3} for i in range(6000)]

    def on_step_end(self, args, state, control, **kwargs):
        if PLANTED:
            json.dumps(self.history, indent=1)


args = transformers.TrainingArguments(
    output_dir=tempfile.mkdtemp(), max_steps=STEPS, per_device_train_batch_size=128, use_cpu=True,
    report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, dataloader_num_workers=0)
torch.manual_seed(0)
transformers.Trainer(model=Classifier(), args=args, train_dataset=Named(STEPS * 128),
                     callbacks=[Report()]).train()
