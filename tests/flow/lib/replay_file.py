# SPDX-License-Identifier: Apache-2.0
"""replay_file.py - lines of a replay file, written and read (man/trainprof-replay.5)"""

FIRST_LINE = "# trainprof-replay 1"


def escape(text):
    return (str(text).replace("%", "%25").replace("\t", "%09").replace("\n", "%0A"))


def unescape(text):
    return text.replace("%09", "\t").replace("%0A", "\n").replace("%25", "%")


def line(kind, /, **fields):
    """Keys whose value is None are left out."""
    return "\t".join([kind] + ["%s=%s" % (key, escape(value))
                               for key, value in fields.items() if value is not None])


def read(path):
    """Yields (kind, {key: text}) of each line."""
    with open(path, encoding="utf-8") as file:
        first = file.readline().rstrip("\n")
        if first != FIRST_LINE:
            raise ValueError("'%s' is no replay file: its first line is '%.40s'" % (path, first))
        for text in file:
            if text.startswith("#") or not text.strip():
                continue
            kind, *fields = text.rstrip("\n").split("\t")
            yield kind, {key: unescape(value)
                         for key, value in (field.split("=", 1) for field in fields)}
