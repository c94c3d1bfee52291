# SPDX-License-Identifier: Apache-2.0
"""range_ways.py STEPS [fork|threads|other] - trains STEPS steps and prints, for each, if torch has callbacks for all
threads, and callbacks left for this one, after it; then the loss.

fork: each fifth step a child of fork makes a range, and is waited for. threads: two more make ranges all the
time. other: as if a library that came before us had taken the constructor of ranges (LD_PRELOAD says which)."""
import ctypes
import glob
import os
import sys
import threading

import torch

CPU = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so*"))[0])
HAS_GLOBAL = CPU["_ZN2at18hasGlobalCallbacksEv"]
HAS_OWN = CPU["_ZN2at23hasThreadLocalCallbacksEv"]
HAS_GLOBAL.restype = HAS_OWN.restype = ctypes.c_bool


def make_ranges(name, is_over):
    while not is_over.is_set():
        with torch.profiler.record_function(name):
            is_over.wait(0.0002)


def fork():
    child = os.fork()
    if not child:
        with torch.profiler.record_function("in a child"):
            pass
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(n_steps, how="alone"):
    torch.manual_seed(1)
    net = torch.nn.Linear(16, 16)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    is_over = threading.Event()
    threads = [threading.Thread(target=make_ranges, args=(f"thread {i}", is_over))
               for i in range(2 if how == "threads" else 0)]
    for thread in threads:
        thread.start()
    has_global, has_own, ended = "", "", set()
    for step in range(n_steps):
        with torch.profiler.record_function("my step"):
            loss = net(torch.ones(4, 16)).pow(2).mean()
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if how == "fork" and step % 5 == 4:
            ended.add(fork())
        has_global += "01"[HAS_GLOBAL()]
        has_own += "01"[HAS_OWN()]
    is_over.set()
    for thread in threads:
        thread.join()
    print(has_global, has_own, *ended)
    print("%.9f" % loss.item())


main(int(sys.argv[1]), *sys.argv[2:])
