# SPDX-License-Identifier: Apache-2.0
"""A small training in a Python that is watched: hooked.py tracemalloc|hooks|trace|profile|cprofile|never."""
import cProfile
import ctypes
import sys
import tracemalloc

import torch
from torch import nn

OBJECTS = 2


class Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(*(nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(4)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
if sys.argv[1] == "tracemalloc":
    tracemalloc.start()
elif sys.argv[1] == "hooks":
    # Python's own functions, which do not look at their context: no address that anybody could read.
    hooks = Allocator()
    ctypes.pythonapi.PyMem_GetAllocator(OBJECTS, ctypes.byref(hooks))
    hooks.context = 111
    ctypes.pythonapi.PyMem_SetAllocator(OBJECTS, ctypes.byref(hooks))
elif sys.argv[1] == "trace":
    sys.settrace(lambda *what: None)
elif sys.argv[1] == "profile":
    sys.setprofile(lambda *what: None)
elif sys.argv[1] == "cprofile":
    cProfile.Profile().enable()
for _ in range(20):
    loss = model(torch.randn(16, 32)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
