# SPDX-License-Identifier: Apache-2.0
"""A training beside which the process does what few do. Prints the same with and without a profiler.

usage: rare_python.py HABIT

fork-in-threads  threads fork while the first one trains; the children use tensors
sandbox          forked children are killed for each system call that they have no need of
forkserver       workers of multiprocessing's fork server, beside a training
subprocess       threads start programs, with a function that is called in the child
descriptors      all descriptors are closed, files of its own opened and written, again and again
stdio            standard output and errors are closed, and files are there from then on
folder           the folder that it was started in is left, renamed and removed
limits           descriptors and bytes in files are limited while it trains
"""
import ctypes
import multiprocessing
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

import torch

STEPS = 40
libc = ctypes.CDLL(None, use_errno=True)


def train(between=None, steps=STEPS):
    """What the last loss is. `between` is called after each step."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 20)).square().mean()
        loss.backward()
        optimizer.step()
        if between:
            between(step)
    return loss.item()


def use_tensors():
    return sum((torch.ones(50) * i).sum().item() for i in range(20)) == 9500


def end_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def in_child(work):
    """A forked child's status: what work() returns."""
    pid = os.fork()
    if not pid:
        status = 99
        try:
            status = work()
        finally:
            os._exit(status)
    return end_of(pid)


def fork_in_threads():
    ends = []

    def fork_on():
        for _ in range(20):
            ends.append(in_child(lambda: 7 if use_tensors() else 8))

    threads = [threading.Thread(target=fork_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    loss = train(steps=200)
    for thread in threads:
        thread.join()
    return loss, len(ends), set(ends)


# read, write, what memory needs, futex, the end: x86-64
ALLOWED = [0, 1, 9, 10, 11, 12, 13, 14, 15, 25, 28, 60, 202, 228, 231]


def forbid():
    """Any other system call ends the process (SECCOMP_RET_KILL_PROCESS)."""
    code = [struct.pack("HBBI", 0x20, 0, 0, 0)]
    for number in ALLOWED:
        code.append(struct.pack("HBBI", 0x15, 0, 1, number))
        code.append(struct.pack("HBBI", 0x06, 0, 0, 0x7fff0000))
    code.append(struct.pack("HBBI", 0x06, 0, 0, 0x80000000))
    text = ctypes.create_string_buffer(b"".join(code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.syscall(317, 1, 0, program):
        return False
    return True


def sandbox():
    ends = []

    def fork(_):
        def work():
            if not forbid():
                return 77
            for _ in range(20):
                torch.empty(10)
            return 7
        ends.append(in_child(work))
    return train(fork), len(ends), set(ends)


def square(x):
    return (torch.full((10,), float(x)) ** 2).mean().item()


def forkserver():
    context = multiprocessing.get_context("forkserver")
    results = []
    with context.Pool(2) as pool:
        loss = train(lambda step: results.append(pool.apply_async(square, (step,))))
        return loss, sum(result.get() for result in results)


def start_programs():
    results = []

    def start_on():
        for i in range(15):
            done = subprocess.run(["sh", "-c", "cat; exit 3"], input=b"text", stdout=subprocess.PIPE, check=False,
                                  preexec_fn=os.setsid if i % 3 == 0 else None, close_fds=i % 2 == 0)
            results.append((done.returncode, done.stdout))
            try:
                subprocess.run(["/nowhere/program"], check=False)
            except FileNotFoundError:
                results.append((3, b"text"))

    threads = [threading.Thread(target=start_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    loss = train(steps=200)
    for thread in threads:
        thread.join()
    return loss, len(results), set(results)


def close_descriptors():
    """(loss, how many of these files have what was written)"""
    wrong = []

    def close_all(step):
        os.closerange(3, 4096)
        files = [os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(3)]
        for i in range(50):
            for file in files:
                os.write(file, b"%06d %06d\n" % (step, i))
            torch.ones(100).sum()
        for file in files:
            text = os.pread(file, 1 << 20, 0)
            if text != b"".join(b"%06d %06d\n" % (step, i) for i in range(50)):
                wrong.append((step, file))
        if files != [3, 4, 5]:
            wrong.append(files)

    return train(close_all), wrong


def leave_stdio():
    kept = os.dup(1)
    for number in (1, 2):
        os.close(number)
    loss = train()
    files = [os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(2)]
    loss += train(lambda step: os.write(files[step % 2], b"line\n"))
    texts = [os.pread(file, 1 << 20, 0) == b"line\n" * (STEPS // 2) for file in files]
    os.dup2(kept, 1)
    return loss, files, texts


def leave_folder():
    here = tempfile.mkdtemp(dir=".")
    os.chdir(here)
    loss = train()
    shutil.move(os.getcwd(), os.getcwd() + ".moved")
    loss += train()
    shutil.rmtree(os.getcwd())
    loss += train()
    os.chdir("/")
    return loss + train()


def limit():
    loss = train(steps=20)
    with tempfile.TemporaryFile() as file:
        kept = resource.getrlimit(resource.RLIMIT_FSIZE), resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, kept[1][1]))
        loss += train()
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, kept[0][1]))
        loss += train()
        try:
            os.write(file.fileno(), b"x")
            result = "written"
        except OSError as error:
            result = error.strerror
        resource.setrlimit(resource.RLIMIT_FSIZE, kept[0])
        resource.setrlimit(resource.RLIMIT_NOFILE, kept[1])
    return loss, result


HABITS = {"fork-in-threads": fork_in_threads, "sandbox": sandbox, "forkserver": forkserver,
          "subprocess": start_programs, "descriptors": close_descriptors, "stdio": leave_stdio,
          "folder": leave_folder, "limits": limit}

if __name__ == "__main__":
    torch.set_num_threads(1)
    print(HABITS[sys.argv[1]]())
