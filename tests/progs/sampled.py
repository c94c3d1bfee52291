# SPDX-License-Identifier: Apache-2.0
"""sampled.py KIND SAMPLER... - runs functions that take different parts of the time, under another sampler

The sampler is started as a command for this process (its pid takes the place of {}), without what is
preloaded here; the program ends with it.
"""
import hashlib
import json
import os
import subprocess
import sys
import threading
import time

import torch

is_over = False


def spin(n):
    for i in range(n):
        n += i
    return n


def often():
    spin(600)


def seldom():
    spin(300)


def rarely():
    spin(100)


def work_plain():
    often()
    seldom()
    rarely()


def dive(depth, then):
    return then() if depth == 0 else dive(depth - 1, then)


def work_recursion():
    dive(30, often)
    dive(3, seldom)


def numbers(n, each):
    for i in range(n):
        yield spin(each)


def fail(n):
    spin(n)
    raise ValueError("here")


def generate(scale):
    sum(numbers(20, 20 * scale))
    sum([spin(5 * scale) for _ in range(30)])
    try:
        fail(200 * scale)
    except ValueError:
        pass


def work_generators():
    generate(10)


def work_short():
    generate(1)


def dump():
    json.dumps({"a": list(range(400))})


def sort():
    sorted(range(3000, 0, -1), key=lambda i: -i)


def digest():
    hashlib.sha256(b"some bytes" * 8000).hexdigest()


def work_calls():
    dump()
    sort()
    digest()


def beside():
    while not is_over:
        seldom()
        digest()


def main():
    global is_over
    kind, command = sys.argv[1], sys.argv[2:]
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    step()
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    sampler = subprocess.Popen([word.replace("{}", str(os.getpid())) for word in command], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    work = {"plain": work_plain, "recursion": work_recursion, "generators": work_generators,
            "short": work_short, "calls": work_calls, "threads": work_plain}[kind]
    thread = threading.Thread(target=beside)
    if kind == "threads":
        thread.start()
    # Rarely asked: a sampler that stops the process does so at its next call of the kernel, where there
    # are many, and then takes what runs after one for what runs most.
    while sampler.poll() is None:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            work()
        step()
    is_over = True
    if kind == "threads":
        thread.join()
    sys.exit(sampler.returncode)


main()
