# SPDX-License-Identifier: Apache-2.0
"""workers.py HOW [WORDS...] - a training whose data loader has worker processes

HOW is how workers start: fork, spawn, forkserver. Words: "persistent" keeps them over epochs;
"subprocess" starts a program in each; "exit" ends a worker by os._exit, "kill" by SIGKILL, "die"
the training process itself by SIGKILL after its first epoch; "threads" keeps threads of the
parent allocating while workers are forked; "numpy" loads arrays, no tensors; "slow" makes a
batch take a while. Prints the loss of each step as a hexadecimal float, so that runs can be
compared to the bit.
"""
import os
import signal
import subprocess
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

EPOCHS, BATCHES, BATCH = 2, 8, 4


class Items(Dataset):
    def __init__(self, words):
        self.words = words

    def __len__(self):
        return BATCHES * BATCH

    def __getitem__(self, i):
        if get_worker_info() and i % BATCH == 0:
            if "subprocess" in self.words:
                subprocess.run([sys.executable, "-S", "-c", "pass"], check=True)
            if "slow" in self.words:
                time.sleep(0.02)
            if get_worker_info().id == 1 and i >= BATCHES * BATCH // 2:
                if "exit" in self.words:
                    os._exit(7)
                if "kill" in self.words:
                    os.kill(os.getpid(), signal.SIGKILL)
        if "numpy" in self.words:
            import numpy
            return numpy.arange(i, i + 16, dtype=numpy.float32) / 64
        return torch.arange(i, i + 16, dtype=torch.float32).div(64)


def allocate(stop):
    while not stop.is_set():
        for n in range(1, 4000, 97):
            bytearray(n)


def main():
    how, words = sys.argv[1], sys.argv[2:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    stop = threading.Event()
    if "threads" in words:
        for _ in range(3):
            threading.Thread(target=allocate, args=(stop,), daemon=True).start()
    model = torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Items(words), batch_size=BATCH, num_workers=2,
                        multiprocessing_context=how, persistent_workers="persistent" in words)
    try:
        for epoch in range(EPOCHS):
            for batch in loader:
                loss = model(batch).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                print(loss.item().hex(), flush=True)
            if "die" in words:
                os.kill(os.getpid(), signal.SIGKILL)
    except RuntimeError as error:
        print("a worker died:", "exited unexpectedly" in str(error) or str(error)[:60])
    stop.set()


if __name__ == "__main__":
    main()
