# SPDX-License-Identifier: Apache-2.0
"""hangs.py CASE THERE: some steps of a training, then what CASE says; most never end.

"missing" makes no step: its other rank is never started.

THERE is a path: of a pipe that nobody writes to, a file that ends a pause, or a checkpoint. Those of which CASE
is a name in PAUSES, or "healthy" for some of them, pause for five or eight seconds, in which
something goes on.
"""

import ast
import ctypes
import fcntl
import gc
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib

import torch
import torch.distributed as dist

case, there = sys.argv[1:3]
SHORT = 5   # seconds at one place: less than twice the limit
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def average(tensor):
    dist.all_reduce(tensor)


def join():
    if "INIT" in os.environ:
        dist.init_process_group("gloo", init_method=os.environ["INIT"], rank=int(os.environ["RANK"]),
                                world_size=int(os.environ["WORLD_SIZE"]))
    else:
        dist.init_process_group("gloo")


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


def hold_lock_of_file():
    first, second = open(there, "w"), open(there, "w")
    fcntl.flock(first, fcntl.LOCK_EX)
    fcntl.flock(second, fcntl.LOCK_EX)


def fork_with_lock_held():
    lock = threading.Lock()
    threading.Thread(target=take, args=(lock, threading.Lock()), daemon=True).start()
    time.sleep(0.2)
    child = os.fork()
    if not child:
        # Its thread that holds the lock is none of the child's.
        signal.alarm(300)
        lock.acquire()
    os.waitpid(child, 0)


def evaluate_alone():
    with torch.no_grad():
        model(torch.ones(16, 4))
    dist.barrier()


class Gpu:
    """The stand-in for CUDA, where LD_LIBRARY_PATH leads to it."""

    def __init__(self):
        import fake_gpu
        self.gpu = fake_gpu.Gpu()

    def wait_for_kernel(self):
        self.gpu.launch("for_ever")
        self.gpu.runtime.cudaStreamSynchronize(ctypes.c_void_p())


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


def pull():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    connection, _ = server.accept()
    for _ in until(8):
        connection.send(bytes(1000))
        client.recv(1000)
        time.sleep(0.01)


def run_child():
    subprocess.run([sys.executable, "-c", "import time\nend = time.monotonic() + %d\n" % SHORT +
                    "while time.monotonic() < end: sum(range(1000))"], check=True)


def multiply():
    great = torch.ones(300, 300)
    with torch.no_grad():
        for _ in until(8):
            torch.mm(great, great)


def join_thread():
    thread = threading.Thread(target=multiply)
    thread.start()
    thread.join()


def build_index():
    index = {}
    for at in until(SHORT):
        index[str(len(index))] = [at] * 10
        if len(index) > 1 << 18:
            index.clear()


def compress():
    for _ in until(SHORT):
        zlib.compress(bytes(1 << 22))


def pickle_much():
    for _ in until(SHORT):
        pickle.loads(pickle.dumps(list(range(1 << 16))))


def copy_file():
    with open(there, "wb") as checkpoint:
        checkpoint.write(bytes(1 << 22))
    for _ in until(8):
        shutil.copyfile(there, there + ".copy")
        time.sleep(0.05)
    os.remove(there + ".copy")
    os.remove(there)


def collect():
    for _ in until(SHORT):
        ring = [[None] for _ in range(1 << 14)]
        for item in ring:
            item[0] = item
        gc.collect()


def back_off():
    with torch.no_grad():
        for _ in until(8):
            time.sleep(1)
            model(torch.ones(2, 4))


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        time.sleep(2)
        return torch.ones(4)


def load_slowly(num_workers=0):
    train(torch.utils.data.DataLoader(Slow(), num_workers=num_workers))


def load_with_worker():
    load_slowly(1)


PAUSES = {pause.__name__: pause for pause in (
    evaluate, save, compile_much, pull, run_child, multiply, join_thread, build_index, compress, pickle_much,
    copy_file, collect, back_off, load_slowly, load_with_worker)}


def run():
    steps = [torch.ones(2, 4)] * 10
    gpu = Gpu() if case == "gpu" else None
    if case in ("skip", "differ", "wait", "evaluation", "missing"):
        join()
    train(steps)
    if case == "skip":
        average(torch.ones(3)) if dist.get_rank() == 0 else rest()
    elif case == "differ":
        average(torch.ones(3)) if dist.get_rank() == 0 else dist.broadcast(torch.ones(3), 0)
    elif case == "evaluation":
        average(torch.ones(3)) if dist.get_rank() == 0 else evaluate_alone()
    elif case == "gpu":
        gpu.wait_for_kernel()
    elif case == "file":
        hold_lock_of_file()
    elif case == "fork":
        fork_with_lock_held()
    elif case == "wait":
        if dist.get_rank() == 0:
            PAUSES[os.environ.get("PAUSE", "evaluate")]()
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
    elif case in PAUSES:
        PAUSES[case]()
    elif case == "healthy":
        for pause in evaluate, save, compile_much:
            pause()
            train(steps)
    train(steps)


if __name__ == "__main__":
    run()
