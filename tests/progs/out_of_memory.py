# SPDX-License-Identifier: Apache-2.0
"""out_of_memory.py HOW: some steps, each of which keeps more, then more than there is: of torch (tensor), of
Python (bytes), or reported as the allocator of a device does (device).

Prints what the program sees of it, and goes on. With HOW the absolute path of a control group: some steps in it, as
many as fill 97 % of what it may have.
"""

import ctypes
import os
import resource
import sys
import time

import torch

how = sys.argv[1]
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = []


def train():
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        kept.append(torch.zeros(1 << 18))


def grow_tensor():
    return torch.empty(1 << 34)


def grow_bytes():
    return bytearray(1 << 36)


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int8), ("index", ctypes.c_int8)]


def report_device():
    name = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
    library = ctypes.CDLL(None)
    if not hasattr(library, name):
        # What libc10 calls by this name is found first in a library that was preloaded.
        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))
    report = library[name]
    report.argtypes = [ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, Device]
    report(3 << 30, 70 << 30, 75 << 30, Device(1, 2))


def read_number(folder, *names):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="ascii") as file:
                return int(file.read())
    return 0


def fill(folder):
    limit = read_number(folder, "memory.max", "memory.limit_in_bytes")
    while read_number(folder, "memory.current", "memory.usage_in_bytes") < 0.97 * limit:
        kept.append(torch.ones(1 << 20))
        train()
    time.sleep(3)


if os.path.isabs(how):
    train()
    fill(how)
    sys.exit()
train()
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
with open("/proc/self/statm", encoding="ascii") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), hard))
try:
    {"tensor": grow_tensor, "bytes": grow_bytes, "device": report_device}[how]()
except (RuntimeError, MemoryError) as error:
    print(type(error).__name__, str(error)[:60])
train()
print("done", sum(map(torch.Tensor.numel, kept)))
