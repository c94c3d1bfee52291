# SPDX-License-Identifier: Apache-2.0
"""Every step writes a record of all its settings as JSON."""
# expect: cause=host-code where=log_step|host_logging.py
import json
import logging
import os

from parts import PLANTED, batches, learn, parts

logging.basicConfig(filename=os.devnull, level=logging.INFO)
settings = {"layer%d" % i: {"lr": 0.1 / (i + 1), "name": "block", "on": True} for i in range(1500)}


def log_step(at, loss):
    logging.info(json.dumps({"step": at, "loss": loss, "settings": settings}, indent=1))


model, optimizer = parts()
for at, (x, y) in enumerate(batches()):
    loss = learn(model, optimizer, x, y)
    if PLANTED:
        log_step(at, loss.item())
