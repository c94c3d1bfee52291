# SPDX-License-Identifier: Apache-2.0
"""Every eighth step something is drawn, in Python."""
# expect: cause=periodic where=draw|every_plot.py|every 8
from parts import PLANTED, STEPS, batches, learn, parts


def draw(history):
    text = ""
    for i in range(250000):
        text = "%d,%f" % (i, history[i % len(history)])
    return text


model, optimizer = parts()
history = []
for at, (x, y) in enumerate(batches(steps=STEPS * 2)):
    history.append(learn(model, optimizer, x, y).item())
    if PLANTED and at % 8 == 7:
        draw(history)
