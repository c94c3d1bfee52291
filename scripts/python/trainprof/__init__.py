# SPDX-License-Identifier: Apache-2.0
"""What trainprof recorded, as tables of Arrow.

    import trainprof, duckdb
    run = trainprof.open("trainprof-run/")
    kernels = run["kernels"]
    duckdb.sql("select name, sum(dur_ns) from kernels group by name order by 2 desc")

A table is taken as it is by all that know Arrow's PyCapsule interface: duckdb, polars.DataFrame(),
pyarrow.table(). Times are int64 nanoseconds (fields *_ns), sizes bytes; each field's metadata has its
unit and a line of help. Needs nothing but libtrainprof-read.so. trainprof-read(3) has the tables.
"""

__all__ = ["Error", "Run", "Table", "open"]


def __getattr__(name):
    # Loaded when it is first needed: the commands of python -m trainprof do without the library.
    if name not in __all__:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from . import read
    return getattr(read, name)


def __dir__():
    return sorted(list(globals()) + __all__)
