# SPDX-License-Identifier: Apache-2.0
"""Tables in parts, a rank each, for engines of many processes or machines (dask.py, spark.py). Needs pyarrow.

A part is read from the rank's own files alone. What is numbered there from 1 on is made distinct by the rank's
place in the run, and times are moved to the run's one clock by the begins of its windows: on one host to the
nanosecond, on others but for what their clocks drifted apart within a window.
"""

import collections
import os

import pyarrow
import pyarrow.compute

from . import read

# Rows of a rank of these are in its own files; what else there is needs all ranks.
BY_RANK = ("events", "spans", "kernels", "tensors", "heap", "samples", "counters", "stacks")
_MOMENTS = ("begin_ns", "at_ns", "launch_ns")
_NUMBERS = ("id", "parent", "span", "stack")
_NUMBER_BITS = 40  # of a number within its rank
_WINDOW_BITS = 32

# rank: None where it has none, or where the part is the whole run (processes is None then).
# processes: {what is the same of a process wherever it is read: its process_at}
# begins: {(process_at, window): begin_ns}
Part = collections.namedtuple("Part", "paths choice table columns rank processes begins")


def plan(paths, table, columns=None, ranks=None, windows=None, steps=None):
    """(schema, parts) of a table. Raises Error, whose text names the file; KeyError for what there is not."""
    choice = {"ranks": ranks, "windows": windows, "steps": steps}
    with read.open(*paths, **choice) as run:
        wanted = run[table] if columns is None else run[table].select(*columns)
        schema = _plain(pyarrow.RecordBatchReader.from_stream(wanted).schema)
        if table not in BY_RANK:
            return schema, [Part(paths, choice, table, columns, None, None, None)]
        processes, recorded = _rows(run, "processes"), _rows(run, "files")
    parts = []
    for rank in dict.fromkeys(row["rank"] for row in processes):
        its = {_key(row): row["process_at"] for row in processes if row["rank"] == rank}
        files = [row for row in recorded if row["rank"] == rank]
        if files:
            begins = {(row["process_at"], row["window"]): row["begin_ns"] for row in files}
            its_choice = dict(choice, ranks=ranks if rank is None else rank)
            parts.append(Part(_with_ledgers(row["path"] for row in files), its_choice, table, columns, rank,
                              its, begins))
    return schema, parts


def select(parts, expression):
    """Those parts that may have rows of which a pyarrow expression of `rank` alone is true."""
    places = pyarrow.table({"rank": pyarrow.array([part.rank for part in parts], pyarrow.int64()),
                            "at": list(range(len(parts)))})
    return [parts[at] for at in places.filter(expression)["at"].to_pylist()]


def batches(part):
    """The rows of a part, as pyarrow.RecordBatch of the plan's schema. Raises Error."""
    run = read.open(*part.paths, **part.choice)
    table, names, place = run[part.table], part.columns, None
    if part.processes is not None:
        place = _Place(part, run)
        names = names or pyarrow.RecordBatchReader.from_stream(table).schema.names
        table = table.select(*place.needed(names, part.table))
    elif names is not None:
        table = table.select(*names)
    for batch in pyarrow.RecordBatchReader.from_stream(table):
        if place:
            batch = place.move(batch).select(names)
        yield batch.cast(_plain(batch.schema))


def frame(part, columns=None):
    """A part as pandas.DataFrame, in Arrow's types: those of pandas have no integer that is not known."""
    import pandas
    part = part if columns is None else part._replace(columns=columns)
    read_batches = list(batches(part))
    table = pyarrow.Table.from_batches(read_batches) if read_batches else _empty(part)
    return table.to_pandas(types_mapper=pandas.ArrowDtype)


def _empty(part):
    schema, _ = plan(part.paths, part.table, part.columns, **part.choice)
    return schema.empty_table()


class _Place:
    """Where the rows of a rank that was opened alone stand in its run."""

    def __init__(self, part, run):
        self.at = {row["process_at"]: part.processes[_key(row)] for row in _rows(run, "processes")
                   if _key(row) in part.processes}
        self.base = min(part.processes.values()) << _NUMBER_BITS
        self.shift = {}
        for row in _rows(run, "files"):
            begin = part.begins.get((self.at.get(row["process_at"]), row["window"]))
            if begin is None:
                raise read.Error("%s: another run lies there now" % row["path"])
            self.shift[self._window(row["process_at"], row["window"])] = begin - row["begin_ns"]

    @staticmethod
    def _window(process_at, window):
        return (process_at << _WINDOW_BITS) + window

    def needed(self, names, table):
        """These columns, and those that their places follow from."""
        by = ("process_at", "window") if set(names) & set(_MOMENTS) else ()
        return list(names) + [name for name in by if name not in names]

    def move(self, batch):
        shift = self._shifts(batch)
        for at, name in enumerate(batch.schema.names):
            if name in _MOMENTS:
                batch = batch.set_column(at, name, pyarrow.compute.add(batch.column(at), shift))
            elif name in _NUMBERS:
                batch = batch.set_column(at, name, pyarrow.compute.add(batch.column(at), self.base))
        if "process_at" in batch.schema.names:
            at = batch.schema.names.index("process_at")
            batch = batch.set_column(at, "process_at", _mapped(batch.column(at), self.at))
        return batch

    def _shifts(self, batch):
        """By how much each row's times are moved; one number where it is that of all."""
        if len(set(self.shift.values())) < 2 or not set(batch.schema.names) & set(_MOMENTS):
            return next(iter(self.shift.values()), 0)
        keys = pyarrow.compute.add(
            pyarrow.compute.multiply(batch.column("process_at"), 1 << _WINDOW_BITS), batch.column("window"))
        return _mapped(keys, self.shift)


def _mapped(column, table):
    places = pyarrow.compute.index_in(column, pyarrow.array(list(table), pyarrow.int64()))
    return pyarrow.array(list(table.values()), pyarrow.int64()).take(places)


def _key(process):
    return tuple(process[name] for name in ("rank", "worker", "restart", "host", "pid", "program"))


def _rows(run, name):
    return pyarrow.table(run[name]).to_pylist()


def _plain(schema):
    """Texts as texts, not by numbers of a dictionary: each batch has another."""
    return pyarrow.schema([field.with_type(pyarrow.string()) if pyarrow.types.is_dictionary(field.type)
                           else field for field in schema], schema.metadata)


def _with_ledgers(files):
    """Files, each once, and the ledgers of steps beside them: rank0.1.tpt has rank0.steps."""
    paths = dict.fromkeys(files)
    for path in list(paths):
        folder, name = os.path.split(path)
        words = name.split(".")
        for n in range(1, len(words)):
            ledger = os.path.join(folder, ".".join(words[:n]) + ".steps")
            if os.path.exists(ledger):
                paths[ledger] = None
    return list(paths)
