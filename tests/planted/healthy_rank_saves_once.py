# SPDX-License-Identifier: Apache-2.0
"""Nothing is wrong: rank 0 writes one checkpoint, for which the others wait once."""
# expect: healthy
# run: torchrun 2
import os
import tempfile

import torch
from parts import STEPS, Net, batches, join, learn, leave, parallel

rank = join()
model, _ = parallel(Net(width=512))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
path = os.path.join(tempfile.mkdtemp(), "model.pt")
for at, (x, y) in enumerate(batches(32)):
    learn(model, optimizer, x, y)
    if rank == 0 and at == STEPS // 2:
        torch.save(model.state_dict(), path)
        os.remove(path)
leave()
