# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: some Python between steps that is short beside them."""
# expect: healthy
import json

from parts import batches, learn, parts


def note(step, loss):
    return json.dumps({"step": step, "loss": round(loss, 4), "tags": ["train"] * 8})


model, optimizer = parts()
lines = []
for step, (x, y) in enumerate(batches()):
    lines.append(note(step, learn(model, optimizer, x, y).item()))
