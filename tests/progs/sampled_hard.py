# SPDX-License-Identifier: Apache-2.0
"""A training whose Python stacks are hard to read from outside. Prints the same with and without a profiler.

usage: sampled_hard.py HABIT

made          functions are made from text and thrown away, one at the address of the other, each in a range
              that has its name
threads       600 threads stand, and thousands come and go
forks         threads fork in the middle, the children run Python
undumpable    the process may not be looked at (PR_SET_DUMPABLE)
unshared      it leaves its table of descriptors and its folder behind (unshare)
plain         nothing of that
"""
import ctypes
import os
import sys
import threading
import time

import torch

STEPS = 40
libc = ctypes.CDLL(None, use_errno=True)
is_over = threading.Event()


def spin_plain(ms):
    end = time.monotonic() + ms / 1000
    n = 0
    while time.monotonic() < end:
        n += 1
    return n >= 0


def train(steps=STEPS, between=lambda step: spin_plain(5)):
    """What the last loss is. `between` is called after each step."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 20)).square().mean()
        loss.backward()
        optimizer.step()
        between(step)
    return loss.item()


TEXT = """
def made_%04d():
    end = monotonic() + 0.01
    n = 0
    while monotonic() < end:
        n += 1
    return n
"""


def run_made(number):
    names = {"monotonic": time.monotonic}
    exec(TEXT % number, names)
    function = names.pop("made_%04d" % number)
    with torch.profiler.record_function("made_%04d" % number):
        return function() >= 0


def made():
    return train(STEPS, lambda step: all(run_made(step * 10 + i) for i in range(10)))


def short_life(results):
    results.append(spin_plain(0.1))


def threads():
    standing = [threading.Thread(target=is_over.wait) for _ in range(600)]
    results = []

    def come_and_go():
        for _ in range(1000):
            thread = threading.Thread(target=short_life, args=(results,))
            thread.start()
            thread.join()

    starter = threading.Thread(target=come_and_go)
    for thread in standing + [starter]:
        thread.start()
    loss = train()
    starter.join()
    is_over.set()
    for thread in standing:
        thread.join()
    return loss, len(results), all(results)


def in_child(ends):
    pid = os.fork()
    if not pid:
        os._exit(7 if spin_plain(3) and all([spin_plain(1) for _ in range(3)]) else 8)
    ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


def forks():
    ends = []
    forkers = [threading.Thread(target=lambda: [in_child(ends) for _ in range(40)]) for _ in range(3)]
    for thread in forkers:
        thread.start()
    loss = train(80)
    for thread in forkers:
        thread.join()
    return loss, len(ends), set(ends)


def undumpable():
    loss = train(10)
    result = libc.prctl(4, 0, 0, 0, 0)
    return loss, result, train()


def unshared():
    loss = train(10)
    result = libc.unshare(0x400 | 0x200)  # CLONE_FILES, CLONE_FS
    return loss, result, train()


HABITS = {"made": made, "threads": threads, "forks": forks, "undumpable": undumpable, "unshared": unshared,
          "plain": train}

if __name__ == "__main__":
    torch.set_num_threads(1)
    print(HABITS[sys.argv[1]]())
