# SPDX-License-Identifier: Apache-2.0
"""Is there an audit hook in this interpreter? By the time that an audited call takes, now and
with a hook of our own, whose function does nothing. Prints "hook" or "none"."""

import ctypes
import timeit


def measure():
    # The least of many short ones, spread over a while: other work comes in between.
    return min(timeit.repeat("id(x)", setup="x = 1", number=10000, repeat=400))


now = measure()
add = ctypes.pythonapi.PySys_AddAuditHook
add.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
nothing = ctypes.cast(ctypes.pythonapi.Py_IsInitialized, ctypes.c_void_p)
for name in "Py_IsFinalizing", "_Py_IsFinalizing":
    if hasattr(ctypes.pythonapi, name):
        nothing = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p)
        break
if add(nothing, None):
    raise SystemExit("cannot add a hook")
with_one = measure()
print("none" if with_one > 1.2 * now else "hook")
