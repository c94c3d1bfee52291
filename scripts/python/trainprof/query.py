# SPDX-License-Identifier: Apache-2.0
"""Ready queries over a run's tables (scripts/sql), asked of DuckDB."""

import os
import re

_HERE = os.path.dirname(os.path.realpath(__file__))
# Beside the package, or in a checkout.
_FOLDERS = (os.path.join(_HERE, "sql"), os.path.join(_HERE, "..", "..", "sql"))


def _files():
    """{name: path}"""
    for folder in _FOLDERS:
        if os.path.isdir(folder):
            return {name[:-4]: os.path.join(folder, name) for name in sorted(os.listdir(folder))
                    if name.endswith(".sql")}
    return {}


def names():
    """Names of the ready queries."""
    return list(_files())


def text(name):
    """The SQL of one; its head says what it gives and which tables it reads. KeyError when there is none."""
    files = _files()
    if name not in files:
        raise KeyError("no query is called %r: they are %s" % (name, ", ".join(files)))
    with open(files[name], encoding="utf-8") as file:
        return file.read()


def ask(run, name, connection=None):
    """Its result in a connection of DuckDB: .fetchall(), .df(), .pl(), .arrow()."""
    if connection is None:
        import duckdb
        connection = duckdb.connect()
    sql = text(name)
    for table in re.search(r"^-- tables: (.*)$", sql, re.M).group(1).split(", "):
        connection.register(table, run[table])
    return connection.execute(sql)
