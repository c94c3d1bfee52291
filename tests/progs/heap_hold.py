# SPDX-License-Identifier: Apache-2.0
"""heap_hold.py - Python that holds 8 MiB in hold(), called from a method, and then lets go

torch is what makes a process a training, and its Python be read.
"""

import torch  # noqa: F401


class Loader:
    def load(self):
        return hold(8)


def hold(n):
    return [bytearray(1 << 20) for i in range(n)]


assert torch.ones(1).sum() == 1
kept = Loader().load()
kept = None
