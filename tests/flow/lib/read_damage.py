# SPDX-License-Identifier: Apache-2.0
"""read_damage.py FOLDER RUN...: runs with files cut and bytes changed, all their tables read in one process."""

import os
import random
import re
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


def paths_of(folder):
    """The folder; where it has no traces of ours its files, since JSON of trainprof-merge is read by name only."""
    names = sorted(os.listdir(folder))
    if any(name.endswith(".tpt") for name in names):
        return [folder]
    return [os.path.join(folder, name) for name in names]


def read_damaged(run, folder, chance, turns=20):
    """How often it was read, how often it was an error, and the texts of both: errors and issues."""
    n_read, n_errors, texts = 0, 0, []
    for turn in range(turns):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(run, folder)
        names = sorted(name for name in os.listdir(folder) if name.endswith((".tpt", ".json")))
        for name in names[:1 + turn % 2]:
            damage(os.path.join(folder, name), "cut" if turn % 3 else "bytes", chance)
        try:
            with trainprof.open(*paths_of(folder)) as opened:
                for name in [name for name in opened.tables if not opened[name].view or name == "operator"]:
                    _, rows = fields(opened[name])
                    texts += [row["text"] for row in rows] if name == "issues" else []
                n_read += 1
        except trainprof.Error as error:
            assert folder in str(error), error
            texts.append(str(error))
            n_errors += 1
    return n_read, n_errors, texts


def main(folder, *runs):
    chance = random.Random(18)
    for run in runs:
        n_read, n_errors, texts = read_damaged(run, folder, chance)
        says_where = [text for text in texts if folder in text and re.search(r"offset \d+|at \d+ of its text", text)]
        assert n_read and says_where, (run, n_read, n_errors, texts[:3])
        print(run, "read", n_read, "errors", n_errors, "texts", len(texts), "with a place", len(says_where))


if __name__ == "__main__":
    main(*sys.argv[1:])
