# SPDX-License-Identifier: Apache-2.0
"""read_damage.py FOLDER RUN...: runs with files cut and bytes changed, all their tables read in one process."""

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


def read_damaged(run, folder, chance):
    """How often it was read, how often it was an error, and how many issues there were."""
    n_read, n_errors, n_issues = 0, 0, 0
    for turn in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run, folder)
        names = sorted(name for name in os.listdir(folder) if name.endswith((".tpt", ".json")))
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
            n_errors += 1
    return n_read, n_errors, n_issues


def main(folder, *runs):
    chance = random.Random(18)
    for run in runs:
        n_read, n_errors, n_issues = read_damaged(run, folder, chance)
        # A file of JSON is whole or none.
        assert n_errors or n_read and n_issues, run
        print(run, n_read, n_errors, n_issues)


if __name__ == "__main__":
    main(*sys.argv[1:])
