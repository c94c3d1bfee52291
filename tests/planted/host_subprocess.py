# SPDX-License-Identifier: Apache-2.0
"""A command is run in each step to note what the machine does."""
# expect: cause=host-code where=note_machine|subprocess
import subprocess

from parts import PLANTED, batches, learn, parts


def note_machine():
    return subprocess.check_output(["cat", "/proc/meminfo", "/proc/vmstat"]).splitlines()


model, optimizer = parts(width=512)
for x, y in batches():
    learn(model, optimizer, x, y)
    if PLANTED:
        for _ in range(3):
            note_machine()
