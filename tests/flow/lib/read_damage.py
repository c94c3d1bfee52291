# SPDX-License-Identifier: Apache-2.0
"""read_damage.py RUN FOLDER: the run with files cut and bytes changed, read in one process."""

import os
import random
import shutil
import sys

import trainprof
from read_rows import fields


def damage(path, how, chance):
    data = bytearray(open(path, "rb").read())
    if how == "cut":
        data = data[:chance.randrange(len(data))]
    else:
        for _ in range(20):
            data[chance.randrange(len(data))] = chance.randrange(256)
    with open(path, "wb") as file:
        file.write(data)


def main(run, folder):
    chance, n_read, n_issues = random.Random(18), 0, 0
    for turn in range(30):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run, folder)
        names = sorted(name for name in os.listdir(folder) if name.endswith(".tpt"))
        for name in names[:1 + turn % 2]:
            damage(os.path.join(folder, name), "cut" if turn % 3 else "bytes", chance)
        lost = []
        try:
            with trainprof.open(folder) as opened:
                for name in [name for name in opened.tables if not opened[name].view or name == "operator"]:
                    _, rows = fields(opened[name])
                    lost = rows if name == "issues" else lost
                n_issues += len(lost)
                n_read += 1
        except trainprof.Error as error:
            assert folder in str(error), error
    assert n_read and n_issues
    print(n_read, n_issues)


if __name__ == "__main__":
    main(*sys.argv[1:])
