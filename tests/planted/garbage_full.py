# SPDX-License-Identifier: Apache-2.0
"""A list is made for each of many rows in each step, beside a large cache of Python objects: making them is
quick, but so many new ones have the garbage collector go through all objects every other step."""
# expect: cause=garbage where=index_rows|garbage_full.py
from parts import PLANTED, batches, learn, parts

cache = {"word%d" % i: [i, [i]] for i in range(60000)}
model, optimizer = parts()


def index_rows(n):
    rows = [[at] for at in range(n)]
    return sum(row[0] for row in rows[::500])


for x, y in batches():
    if PLANTED:
        index_rows(60000)
    learn(model, optimizer, x, y)
