# SPDX-License-Identifier: Apache-2.0
"""Other programs have the cores of the machine."""
# expect: cause=cores where=.
import os
import subprocess
import sys

from parts import PLANTED, batches, learn, parts

BUSY = "import os, time; begin = time.time()\nwhile os.getppid() == %d and time.time() < begin + 120: pass"

others = [subprocess.Popen([sys.executable, "-c", BUSY % os.getpid()], env={})
          for _ in range(3 * len(os.sched_getaffinity(0)) if PLANTED else 0)]
model, optimizer = parts()
for x, y in batches():
    learn(model, optimizer, x, y)
for other in others:
    other.kill()
    other.wait()
