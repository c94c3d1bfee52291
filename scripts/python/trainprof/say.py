# SPDX-License-Identifier: Apache-2.0
"""Messages of the command: one line each, on standard error."""

import sys


class Refused(Exception):
    """The command cannot do what it was told to; the text says why. `status` is that of the command."""

    def __init__(self, text, status=2):
        super().__init__(text)
        self.status = status


def say(text):
    # None: standard error was closed when we were started.
    if sys.stderr:
        sys.stderr.write("trainprof: %s\n" % text)
        sys.stderr.flush()
