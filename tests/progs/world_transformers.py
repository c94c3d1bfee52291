#!/usr/bin/env python3
"""world_transformers.py - a Transformers Trainer on a tiny GPT-2 of random weights: ten steps
of two accumulated batches each

usage: world_transformers.py FOLDER
"""

import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


class Digits(torch.utils.data.Dataset):
    def __len__(self):
        return 80

    def __getitem__(self, at):
        ids = (torch.arange(16) * (at % 7 + 1)) % 50
        return {"input_ids": ids, "labels": ids}


def main():
    set_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2,
                                       n_head=2))
    arguments = TrainingArguments(
        output_dir=sys.argv[1], num_train_epochs=1, per_device_train_batch_size=4,
        gradient_accumulation_steps=2, logging_steps=1, save_strategy="no", report_to=[],
        use_cpu=True, disable_tqdm=True, learning_rate=1e-3, seed=1)
    trainer = Trainer(model=model, args=arguments, train_dataset=Digits())
    # The trainer prints its logs with run times in them: only the losses are kept.
    trainer.log = lambda logs, *_: print("loss", logs.get("loss"), flush=True)
    trainer.train()


if __name__ == "__main__":
    main()
