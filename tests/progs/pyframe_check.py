# SPDX-License-Identifier: Apache-2.0
"""pyframe_check.py LIBRARY - whose optimizer and loader is it, in this version of Python?

Stands in for torch: functions of the same names in files that end as torch's do. Each calls
the frame reader from where torch would call back, with the interpreter's lock released, and
compares what it says with the object itself. Prints one line: how frames are read here, and
how many answers were right.
"""
import ctypes
import os
import sys
import tempfile
import threading

OPTIMIZER = '''
import contextlib, functools
class Range:
    def __init__(self, ask): self.ask = ask
    def __enter__(self): return self.ask()
    def __exit__(self, *unused): pass
class Optimizer:
    def hook(func):
        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            self, *_ = args
            with Range(kwargs.pop("ask")):
                return func(*args, **kwargs)
        return wrapper
    @hook
    def step(self, closure=None):
        return closure() if closure else None
    def zero_grad(self, ask=None):
        with Range(ask):
            pass
'''
LOADER = '''
from torch.optim.optimizer import Range
class _BaseDataLoaderIter:
    def __init__(self, sampler): self._index_sampler = sampler; self._num_yielded = 0
    def __iter__(self): return self
    def __next__(self):
        with Range(self.ask):
            if self._num_yielded == 3:
                raise StopIteration
            self._num_yielded += 1
        with Range(self.ask):
            return self._num_yielded
'''


def main():
    free = ctypes.CDLL(sys.argv[1])
    held = ctypes.PyDLL(sys.argv[1])
    held.init.restype = ctypes.c_char_p
    free.object.restype = free.loader.restype = ctypes.c_uint64
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("torch/__init__.py", ""), ("torch/optim/__init__.py", ""),
                           ("torch/optim/optimizer.py", OPTIMIZER),
                           ("torch/utils/__init__.py", ""),
                           ("torch/utils/data/__init__.py", ""),
                           ("torch/utils/data/dataloader.py", LOADER)):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as out:
                out.write(text)
        sys.path.insert(0, folder)
        from torch.optim.optimizer import Optimizer
        from torch.utils.data.dataloader import _BaseDataLoaderIter

    why = {}

    def start(argument):
        # As in the audit hook: the lock held, some frames with arguments below.
        why["text"] = held.init().decode()
        return argument
    start(object())

    answers = []  # append is atomic in every version

    def check(got, wanted):
        answers.append(got == wanted)
        if got != wanted:
            print("got", hex(got), "wanted", hex(wanted))

    def deeper(n, call):
        return call() if n == 0 else deeper(n - 1, call)

    def work():
        one, other = Optimizer(), Optimizer()
        for optimizer in (one, other, one):
            optimizer.step(ask=lambda: check(free.object(0), id(optimizer)))
            optimizer.zero_grad(ask=lambda: check(free.object(1), id(optimizer)))
            deeper(50, lambda: optimizer.step(
                lambda: optimizer.zero_grad(ask=lambda: check(free.object(1), id(optimizer))),
                ask=lambda: check(free.object(0), id(optimizer))))
        # Outside of both there is nobody.
        check(free.object(0), 0)
        for sampler in (object(), object()):
            for again in range(2):
                iterator = _BaseDataLoaderIter(sampler)
                seen = []

                def ask():
                    n = ctypes.c_int32()
                    check(free.loader(ctypes.byref(n)), id(sampler))
                    seen.append(n.value)
                iterator.ask = ask
                list(iterator)
                check(seen == [0, 1, 1, 2, 2, 3, 3], True)
        # Generators have frames of another kind between.
        generator = (one.step(ask=lambda: check(free.object(0), id(one))) for _ in range(2))
        list(generator)

    work()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # An exception that is being handled stays what it was.
    try:
        raise KeyError("kept")
    except KeyError:
        Optimizer().step(ask=lambda: free.object(0))
        check(sys.exc_info()[0] is KeyError, True)
    print("%d.%d: %s; %d right, %d wrong" % (
        sys.version_info[:2] + (
            why["text"] or "frames", answers.count(True), answers.count(False))))


main()
