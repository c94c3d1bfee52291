# SPDX-License-Identifier: Apache-2.0
"""workers.py HOW [WORDS...] - a training whose data loader has worker processes

HOW is how workers start: fork, spawn, forkserver. Words: "persistent" keeps them over epochs;
"once" trains for one epoch, "long" for ten; "subprocess" starts a program in each; "exit" ends a
worker by os._exit, "kill" by SIGKILL, "die" the training process itself by SIGKILL after its
first epoch; "threads" keeps threads of the parent allocating while workers are forked; "numpy"
loads arrays, no tensors; "slow" makes a batch take a while. Prints the loss of each step as a
hexadecimal float, so that runs can be compared to the bit; of a run in which a worker dies only
that, because when the parent hears of it is chance.

workers.py forks N: a training that forks N children in its steps, which do little.
workers.py train: a training that forks one that trains, too, in the middle.
"""
import os
import signal
import subprocess
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

BATCHES, BATCH = 8, 4


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


def make_step(width=16):
    torch.manual_seed(0)
    model = torch.nn.Linear(width, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step(batch):
        loss = model(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item().hex()
    return step


def fork(child):
    pid = os.fork()
    if not pid:
        os._exit(child())
    return pid


def forks(n):
    """Every other child makes tensors, every third one runs a program."""
    def child(i):
        if i % 2:
            torch.ones(i).sum()
        if i % 3 == 0:
            os.execv("/bin/true", ["true"])
        return 7
    step = make_step()
    ended = {0: 0, 7: 0}
    for i in range(n):
        ended[os.waitstatus_to_exitcode(os.waitpid(fork(lambda: child(i)), 0)[1])] += 1
        if i % 100 == 0:
            print(step(torch.ones(4, 16)))
    print(ended)


def train():
    """The child's steps are its own: 6 of them, in the parent's second step."""
    def child():
        step = make_step(8)
        for i in range(6):
            step(torch.full((2, 8), float(i)))
        return 7
    step = make_step()
    for i in range(4):
        print(step(torch.full((4, 16), float(i))))
        if i == 1:
            print(os.waitpid(fork(child), 0)[1] >> 8)


def load(how, words):
    stop = threading.Event()
    if "threads" in words:
        for _ in range(3):
            threading.Thread(target=allocate, args=(stop,), daemon=True).start()
    step = make_step()
    epochs = 1 if "once" in words else 10 if "long" in words else 2
    is_dying = "exit" in words or "kill" in words
    loader = DataLoader(Items(words), batch_size=BATCH, num_workers=2,
                        multiprocessing_context=how, persistent_workers="persistent" in words)
    try:
        for epoch in range(epochs):
            for batch in loader:
                loss = step(batch)
                if not is_dying:
                    print(loss, flush=True)
            if "die" in words:
                os.kill(os.getpid(), signal.SIGKILL)
    except RuntimeError as error:
        print("a worker died" if is_dying else error)
    stop.set()


def main():
    how, words = sys.argv[1], sys.argv[2:]
    torch.set_num_threads(1)
    if how == "forks":
        forks(int(words[0]))
    elif how == "train":
        train()
    else:
        load(how, words)


if __name__ == "__main__":
    main()
