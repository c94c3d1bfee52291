# SPDX-License-Identifier: Apache-2.0
"""Somebody's polite wait in the loop."""
# expect: cause=host-code where=throttle|host_sleep.py
import time

from parts import PLANTED, STEPS, batches, learn, parts


def throttle():
    time.sleep(0.01)


model, optimizer = parts()
for at, (x, y) in enumerate(batches()):
    learn(model, optimizer, x, y)
    if PLANTED:
        throttle()
    if at == STEPS:
        break
