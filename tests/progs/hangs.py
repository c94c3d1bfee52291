# SPDX-License-Identifier: Apache-2.0
"""hangs.py CASE THERE: some steps of a training, then what CASE says; most never end.

THERE is a path: of a pipe that nobody writes to, a file that ends a pause, or a checkpoint.
"""

import ast
import os
import socket
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

case, there = sys.argv[1:3]
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def average(tensor):
    dist.all_reduce(tensor)


def train(batches):
    for batch in batches:
        optimizer.zero_grad()
        model(batch).sum().backward()
        if dist.is_initialized():
            for parameter in model.parameters():
                average(parameter.grad)
        optimizer.step()
        time.sleep(0.01)


class Shards(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, at):
        if at == 41:
            self.read_shard()
        return torch.ones(4)

    def read_shard(self):
        with open(there, "r+b", buffering=0) as shard:
            shard.read(1)


def rest():
    time.sleep(3600)


def take(first, second):
    with first:
        time.sleep(1)
        with second:
            pass


def receive():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.recv(1)


def wait_for_child():
    subprocess.run(["sleep", "3600"])


def add_up():
    total = 0
    while True:
        total += 1


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(1)


def until(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def evaluate():
    with torch.no_grad():
        for _ in until(8):
            model(torch.ones(16, 4))


def save():
    with open(there, "wb", buffering=0) as checkpoint:
        for _ in until(8):
            checkpoint.write(bytes(1 << 18))
            time.sleep(0.1)
    os.remove(there)


def compile_much():
    for _ in until(8):
        with open(ast.__file__, encoding="utf-8") as source:
            compile(ast.unparse(ast.parse(source.read())), "much", "exec")


def run():
    steps = [torch.ones(2, 4)] * 10
    if case in ("skip", "differ", "wait"):
        dist.init_process_group("gloo")
    train(steps)
    if case == "skip":
        average(torch.ones(3)) if dist.get_rank() == 0 else rest()
    elif case == "differ":
        average(torch.ones(3)) if dist.get_rank() == 0 else dist.broadcast(torch.ones(3), 0)
    elif case == "wait":
        if dist.get_rank() == 0:
            evaluate()
        dist.barrier()
    elif case == "worker":
        train(torch.utils.data.DataLoader(Shards(), batch_size=4, num_workers=2))
    elif case == "lock":
        mine, yours = threading.Lock(), threading.Lock()
        threading.Thread(target=take, args=(yours, mine), daemon=True).start()
        take(mine, yours)
    elif case == "socket":
        receive()
    elif case == "child":
        wait_for_child()
    elif case == "loop":
        add_up()
    elif case == "pause":
        wait_for(there)
    elif case == "healthy":
        for pause in evaluate, save, compile_much:
            pause()
            train(steps)
    train(steps)


if __name__ == "__main__":
    run()
