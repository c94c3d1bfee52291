# SPDX-License-Identifier: Apache-2.0
"""Somebody's polite wait in the loop."""
# expect: cause=host-code where=throttle|host_sleep.py
import time

from parts import PLANTED, batches, learn, parts


def throttle():
    time.sleep(0.01)


model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        throttle()
