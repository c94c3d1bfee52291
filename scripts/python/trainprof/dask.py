# SPDX-License-Identifier: Apache-2.0
"""Tables of a run as Dask's data frames, a partition each rank. Needs dask[dataframe].

    from trainprof.dask import table
    spans = table("trainprof-run/", "spans")
    spans.groupby("name")["self_ns"].sum(split_out=1).nlargest(10).compute()

Columns that nobody reads are not made. Workers import trainprof, and read the files by the same paths.
"""

import dask.dataframe
import pandas

from . import parts


def table(paths, name, columns=None, ranks=None, windows=None, steps=None):
    """A table of a run, or of several paths of one. Raises Error, whose text names the file; KeyError."""
    paths = [paths] if isinstance(paths, str) else list(paths)
    schema, its_parts = parts.plan(paths, name, columns, ranks, windows, steps)
    meta = schema.empty_table().to_pandas(types_mapper=pandas.ArrowDtype)
    if not its_parts:
        return dask.dataframe.from_pandas(meta, npartitions=1)
    return dask.dataframe.from_map(parts.frame, its_parts, meta=meta, label="trainprof-" + name)
