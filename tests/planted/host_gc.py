# SPDX-License-Identifier: Apache-2.0
"""gc.collect() in each step, "against leaks", beside a large cache of Python objects."""
# expect: cause=garbage where=host_gc.py
import gc

from parts import PLANTED, batches, learn, parts

cache = [{"id": i, "tags": [str(i)]} for i in range(60000)]
model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        gc.collect()
