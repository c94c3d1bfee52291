# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: many threads, which wait."""
# expect: healthy
import threading

from parts import batches, learn, parts

stopping = threading.Event()
model, optimizer = parts()
for _ in range(32):
    threading.Thread(target=stopping.wait, daemon=True).start()
for x, y in batches():
    learn(model, optimizer, x, y)
stopping.set()
