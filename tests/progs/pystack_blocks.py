# SPDX-License-Identifier: Apache-2.0
"""pystack_blocks.py LOG - blocks of memory, each of a size of its own, and who asked for each

LOG gets a line of JSON a block: its size and the functions, files and lines that stand on the
interpreter's stack, innermost first, as sys._getframe says. Without torch: blocks of C's only.
"""
import ctypes
import json
import sys
import threading

try:
    import torch
except ImportError:
    torch = None

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
lock = threading.Lock()
log = []
sizes = iter(range(1_000_003, 9_000_000, 7))


def note(size, frame, line):
    frames = []
    while frame:
        frames.append((getattr(frame.f_code, "co_qualname", frame.f_code.co_name),
                       frame.f_code.co_filename, line))
        frame = frame.f_back
        line = frame.f_lineno if frame else 0
    log.append((size, frames))


def block():
    with lock:
        size = next(sizes)
    libc.free(libc.malloc(size)); line = sys._getframe().f_lineno
    note(size, sys._getframe(), line)


def tensor():
    if not torch:
        return block()
    with lock:
        size = 4 * next(sizes)
    kept = torch.empty(size // 4); line = sys._getframe().f_lineno
    note(size, sys._getframe(), line)
    return kept


def recursion(n, then):
    return then() if n == 0 else recursion(n - 1, then)


def generator(n):
    for _ in range(n):
        block()
        yield
        tensor()


class Callable:
    def __call__(self):
        tensor()


def differentiate():
    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            tensor()
            return x * 2

        @staticmethod
        def backward(ctx, x):
            block()
            return x * 2

    x = torch.ones(10, requires_grad=True)
    Function.apply(x).sum().backward()


def called_by_c():
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def order(a, b):
        recursion(2, block)
        return 0
    libc.qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare(order))


def deep():
    # Far enough for the interpreter to map memory for frames, and to give it back.
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    for _ in range(3):
        recursion(1500, block)
        recursion(700, tensor)
    sys.setrecursionlimit(limit)


def executed():
    for i in range(20):
        text = "\n" * (i % 3) + "def made_%d(then): then()\nmade_%d(then)" % (i % 5, i % 5)
        exec(compile(text, "<made %d>" % (i % 4), "exec"), {"then": block})


def work():
    for _ in range(5):
        block()
        tensor()
        recursion(20, block)
        [tensor() for _ in range(2)]
        list(generator(3))
        Callable()()
        called_by_c()
        executed()
    if torch:
        differentiate()


work()
deep()
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(sys.argv[1], "w") as out:
    for entry in log:
        out.write(json.dumps(entry) + "\n")
