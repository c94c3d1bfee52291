#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""typed.py - what an interactive shell makes of typed lines, with their tabs

usage: typed.py PREPARE SHELL [ARGUMENT]..        lines on standard input

PREPARE is typed first. Then each line, an Enter behind it; it must run a command that prints GOT and the
words it was given, and these words are printed. A line that has no answer in a minute ends it all.
"""

import os
import pty
import re
import select
import sys
import time


def answer(terminal, text, pattern):
    """What comes after the text was typed, as soon as it fits."""
    os.write(terminal, text.encode())
    seen, deadline = "", time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 1)[0]:
            try:
                seen += os.read(terminal, 65536).decode(errors="replace")
            except OSError:
                break
        found = re.search(pattern, seen)
        if found:
            return found
    sys.exit("typed.py: no answer to %r: %r" % (text, seen))


def main():
    prepare, *command = sys.argv[1:]
    child, terminal = pty.fork()
    if not child:
        os.environ.update(TERM="dumb", COLUMNS="200")
        os.execvp(command[0], command)
    answer(terminal, prepare + "; echo REA''DY\n", r"READY\r?\n")
    for line in sys.stdin.read().splitlines():
        print(answer(terminal, line + "\n", r"\nGOT (.*?) ?\r?\n").group(1), flush=True)
    os.close(terminal)


if __name__ == "__main__":
    main()
