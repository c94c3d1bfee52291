# SPDX-License-Identifier: Apache-2.0
"""What the layers gave is fetched to the host after each step, for a metric that is never asked for."""
# expect: cause=pageable-copies,exposed-copies,synchronising where=fetch|gpu_outputs_to_host.py
# needs: cuda
import torch
from parts_gpu import batches, learn, often, one_batch, parts


def fetch(hidden, n):
    return [hidden.float().cpu() for _ in range(n)]


model, optimizer = parts()
x, y = one_batch()
hidden = torch.zeros(len(x), 1024, device=x.device)
n = often(lambda: fetch(hidden, 1), lambda: learn(model, optimizer, x, y))
for x, y in batches():
    learn(model, optimizer, x, y)
    if n:
        with torch.no_grad():
            hidden = model.first(x)[:, :1024]
        seen = fetch(hidden, n)
