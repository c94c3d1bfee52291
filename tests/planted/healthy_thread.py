# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: a thread that wakes up once in a while."""
# expect: healthy
import threading

from parts import batches, learn, parts

stopping = threading.Event()


def watch():
    while not stopping.wait(0.2):
        sum(range(1000))


model, optimizer = parts()
threading.Thread(target=watch, daemon=True).start()
for x, y in batches():
    learn(model, optimizer, x, y)
stopping.set()
