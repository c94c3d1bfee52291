# SPDX-License-Identifier: Apache-2.0
"""Runs and their tables, by libtrainprof-read.so."""

import ctypes
import os

from . import notebook, paths, query
from .rows import stream_rows


class Error(Exception):
    """A run or a table could not be read; the text names the file."""


class _Choice(ctypes.Structure):
    _fields_ = [("ranks", ctypes.c_char_p), ("windows", ctypes.c_char_p), ("steps", ctypes.c_char_p)]


class _About(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("view", ctypes.c_char_p), ("help", ctypes.c_char_p)]


class _Stream(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("get_schema", "get_next", "get_last_error")]
    _fields_ += [("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("private_data", ctypes.c_void_p)]


_lib = ctypes.CDLL(paths.find(paths.READER) or paths.READER)
_lib.trainprof_open.restype = ctypes.c_void_p
_lib.trainprof_open.argtypes = [ctypes.POINTER(ctypes.c_char_p), ctypes.c_uint32, ctypes.POINTER(_Choice),
                                ctypes.c_char_p, ctypes.c_size_t]
_lib.trainprof_close.argtypes = [ctypes.c_void_p]
_lib.trainprof_close.restype = None
_lib.trainprof_about.restype = _About
_lib.trainprof_about.argtypes = [ctypes.c_uint32]
_lib.trainprof_table.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p,
                                 ctypes.c_char_p, ctypes.c_size_t]
_lib.trainprof_text.restype = ctypes.c_void_p
_lib.trainprof_text.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]
_libc.free.restype = None

# Prototypes of our own: those of ctypes.pythonapi.NAME are everybody's.
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))

_CAPSULE = b"arrow_array_stream"
_live = {}  # address of a stream: its memory, until its capsule is gone


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _drop(capsule):
    address = _capsule_pointer(capsule, _CAPSULE)
    stream = _live.pop(address)
    # Who took the stream over has cleared it.
    if stream.release:
        stream.release(address)


def _about():
    """(name, view, help) of each table."""
    at = 0
    while True:
        about = _lib.trainprof_about(at)
        if not about.name:
            return
        yield about.name.decode(), about.view.decode(), about.help.decode()
        at += 1


class Table:
    """A table of a run: each stream of it reads the run again, a batch at a time."""

    def __init__(self, run, name, view, help, columns=None):
        self.run, self.name, self.view, self.help, self.columns = run, name, view, help, columns

    def select(self, *columns):
        """The same table with these columns alone, which is faster: others are not made."""
        return Table(self.run, self.name, self.view, self.help, columns)

    def __arrow_c_stream__(self, requested_schema=None):
        """A capsule of an ArrowArrayStream: batches of at most 16,384 rows. Raises Error."""
        stream = _Stream()
        address = ctypes.addressof(stream)
        error = ctypes.create_string_buffer(1024)
        columns = None if self.columns is None else ",".join(self.columns).encode()
        status = _lib.trainprof_table(self.run._handle(), self.name.encode(), columns, address, error,
                                      len(error))
        if status:
            raise Error("%s: %s: %s" % (self.run, self.name,
                                        error.value.decode(errors="replace") or os.strerror(status)))
        _live[address] = stream
        return _new_capsule(address, _CAPSULE, ctypes.cast(_drop, ctypes.c_void_p))

    def write(self, path):
        """Writes it as an Arrow IPC file, a batch at a time (by pyarrow, which must be installed)."""
        import pyarrow
        reader = pyarrow.RecordBatchReader.from_stream(self)
        # A later batch's dictionaries begin with those of the one before: only new words are written.
        options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        with pyarrow.ipc.new_file(path, reader.schema, options=options) as file:
            for batch in reader:
                file.write_batch(batch)

    def __repr__(self):
        return "<trainprof table %s: %s>" % (self.name, self.help)


class Run:
    """A run that was recorded: run.tables, run["kernels"], run.view("operator"), run.text("overview")."""

    def __init__(self, paths, ranks=None, windows=None, steps=None):
        self._run = None
        self._paths = [os.fspath(path) for path in paths]
        if not self._paths:
            raise Error("no path of a run was given")
        c_paths = (ctypes.c_char_p * len(self._paths))(*[os.fsencode(path) for path in self._paths])
        chosen = _Choice(*[None if it is None else str(it).encode() for it in (ranks, windows, steps)])
        error = ctypes.create_string_buffer(4096)
        self._run = _lib.trainprof_open(c_paths, len(self._paths), ctypes.byref(chosen), error, len(error))
        if not self._run:
            raise Error("%s: %s" % (self, error.value.decode(errors="replace")))

    @property
    def tables(self):
        """Names of all tables, of this library (kernels, spans...) and of views (operator, steps...)."""
        return [name for name, _, _ in _about()]

    def __getitem__(self, name):
        """The table of that name; KeyError when there is none."""
        for known, view, help in _about():
            if known == name:
                return Table(self, name, view, help)
        raise KeyError("no table is called %r: they are %s" % (name, ", ".join(self.tables)))

    def write(self, folder, *names):
        """Tables (all, or those named) as Arrow IPC files in a folder: spans.arrow. Needs pyarrow."""
        os.makedirs(folder, exist_ok=True)
        for name in names or self.tables:
            self[name].write(os.path.join(folder, name + ".arrow"))

    def view(self, name):
        """The tables of a view of trainprof-merge, by their names."""
        tables = {known: self[known] for known, view, _ in _about() if view == name}
        if not tables:
            raise KeyError("no view is called %r" % name)
        return tables

    def text(self, view="overview"):
        """What trainprof-merge -v prints."""
        error = ctypes.create_string_buffer(1024)
        text = _lib.trainprof_text(self._handle(), view.encode(), error, len(error))
        if not text:
            raise Error("%s: %s" % (self, error.value.decode(errors="replace")))
        try:
            return ctypes.string_at(text).decode(errors="replace")
        finally:
            _libc.free(text)

    @property
    def queries(self):
        """Names of the ready queries."""
        return query.names()

    def query(self, name, connection=None):
        """The rows of a ready query by DuckDB (which must be installed): .fetchall(), .df(), .arrow()."""
        return query.ask(self, name, connection)

    def _repr_html_(self):
        """What a notebook shows: the overview's tables."""
        tables = [(table.help, *stream_rows(table.__arrow_c_stream__()))
                  for table in self.view("overview").values()]
        return notebook.run(tables, self.text())

    def _handle(self):
        if not self._run:
            raise Error("%s: the run is closed" % self)
        return self._run

    def close(self):
        """Frees what is held; streams that were handed out stay."""
        run, self._run = self._run, None
        if run:
            _lib.trainprof_close(run)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.close()

    def __del__(self):
        self.close()

    def __str__(self):
        return ", ".join(str(path) for path in self._paths)


def open(*paths, ranks=None, windows=None, steps=None):
    """Opens a run: its folder, or files of it (*.tpt, *.tpn, traces of torch.profiler).

    ranks, windows, steps: only these, "0,2,5-7". Raises Error, whose text names the file.
    """
    return Run(paths, ranks, windows, steps)
