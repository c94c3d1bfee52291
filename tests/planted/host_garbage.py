# SPDX-License-Identifier: Apache-2.0
"""A tree of nodes that know their parents is made in each step, beside many objects that live on: the
garbage collector runs all the time."""
# expect: cause=host-code,garbage,periodic where=grow_tree|Node|host_garbage.py
from parts import PLANTED, batches, learn, parts


class Node:
    def __init__(self, parent, depth):
        self.parent = parent
        self.children = [Node(self, depth - 1) for _ in range(4)] if depth else []


def grow_tree(depth):
    return len(Node(None, depth).children)


vocabulary = {"word%d" % i: [i, [i]] for i in range(60000)}
model, optimizer = parts()
for x, y in batches():
    if PLANTED:
        grow_tree(6)
    learn(model, optimizer, x, y)
