# SPDX-License-Identifier: Apache-2.0
"""Losses are sent to a service that answers at once, mostly; when it doesn't, the step waits to try again."""
# expect: cause=stalls where=send|stall_retry.py
import time

from parts import PLANTED, batches, learn, parts

SLOW = {13, 22, 41, 47, 66, 78, 91, 97}
sent = []


def send(step, loss):
    if PLANTED and step in SLOW:
        time.sleep(0.3)
    sent.append(loss)


model, optimizer = parts(width=512)
for step, (x, y) in enumerate(batches(steps=110)):
    send(step, learn(model, optimizer, x, y).item())
