# SPDX-License-Identifier: Apache-2.0
"""Workers are started anew for each of many short epochs."""
# expect: cause=epoch-start,data-loading where=persistent_workers|epoch|worker
import torch
from parts import PLANTED, Rows, learn, parts

if __name__ == "__main__":
    model, optimizer = parts()
    loader = torch.utils.data.DataLoader(Rows(5 * 64), batch_size=64, num_workers=2,
                                         persistent_workers=not PLANTED)
    for epoch in range(12):
        for x, y in loader:
            learn(model, optimizer, x, y)
