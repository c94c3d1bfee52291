# SPDX-License-Identifier: Apache-2.0
"""A hook on each gradient looks for its median in Python."""
# expect: cause=host-code where=note_median|host_gradient_hook.py
from parts import PLANTED, batches, learn, parts

medians = {}


def note_median(name, grad):
    if PLANTED:
        values = grad[:24].flatten().tolist()
        medians[name] = sorted(map(abs, values))[len(values) // 2]
    else:
        medians[name] = grad.abs().mean()


model, optimizer = parts(width=512)
for name, parameter in model.named_parameters():
    parameter.register_hook(lambda grad, name=name: note_median(name, grad))
for x, y in batches(256):
    learn(model, optimizer, x, y)
