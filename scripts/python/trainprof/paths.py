# SPDX-License-Identifier: Apache-2.0
"""Where the parts of trainprof are: beside the package, in a build, or where make install put them."""

import os
import shutil
import stat

LIBRARY = "libtrainprof.so"
MERGE = "trainprof-merge"
READER = "libtrainprof-read.so"

_HERE = os.path.dirname(os.path.realpath(__file__))

# From the package's folder. Installed, it is LIBDIR/trainprof/python/trainprof, and LIBDIR may have
# one folder more than bin has (lib/x86_64-linux-gnu).
_FOLDERS = (".", "../../../build", "../../..", "../../../../bin", "../../../../../bin")


def find(name):
    """The path of a part, or None."""
    for folder in _FOLDERS:
        path = os.path.normpath(os.path.join(_HERE, folder, name))
        if os.path.isfile(path):
            return path
    return shutil.which(name)


def open_file(path):
    """A regular file, to be read as bytes. OSError for all else: who opens a FIFO may wait for ever."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError("not a regular file")
    return os.fdopen(number, "rb")
