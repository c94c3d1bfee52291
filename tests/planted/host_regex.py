# SPDX-License-Identifier: Apache-2.0
"""The text of a batch is cleaned by regular expressions in the loop."""
# expect: cause=host-code where=clean|host_regex.py
import re

from parts import PLANTED, batches, learn, parts

PAGE = "The <b>quick</b> brown fox, 12 times; jumps &amp; runs. " * 600
TAG, MARK, SPACE = re.compile(r"<[^>]*>"), re.compile(r"&\w+;"), re.compile(r"\s+")


def clean(text):
    return SPACE.sub(" ", MARK.sub(" ", TAG.sub("", text))).lower().split()


model, optimizer = parts()
for x, y in batches():
    if PLANTED:
        for _ in range(3):
            words = clean(PAGE)
    learn(model, optimizer, x, y)
