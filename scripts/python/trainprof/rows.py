# SPDX-License-Identifier: Apache-2.0
"""Rows of a table's stream as Python's own values, through the structs of Arrow's C interface: no package needed."""

import ctypes
import os


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("children", ctypes.POINTER(ctypes.POINTER(Schema))), ("dictionary", ctypes.POINTER(Schema)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("private", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)),
                  ("children", ctypes.POINTER(ctypes.POINTER(Array))), ("dictionary", ctypes.POINTER(Array)),
                  ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("private", ctypes.c_void_p)]
POINTER_OF = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def values(kind, array):
    n, buffers = array.length, array.buffers
    if kind == "u":
        ends = ctypes.cast(buffers[1], ctypes.POINTER(ctypes.c_int32))
        text = ctypes.string_at(buffers[2], ends[n])
        out = [text[ends[i]:ends[i + 1]].decode() for i in range(n)]
    elif kind == "i":
        words = values("u", array.dictionary.contents)
        is_there = ctypes.string_at(buffers[0], (n + 7) // 8) if buffers[0] else b"\xff" * ((n + 7) // 8)
        numbers = ctypes.cast(buffers[1], ctypes.POINTER(ctypes.c_int32))[:n]
        out = [words[it] if is_there[i // 8] >> i % 8 & 1 else None for i, it in enumerate(numbers)]
    else:
        item = ctypes.c_int64 if kind == "l" else ctypes.c_double
        out = ctypes.cast(buffers[1], ctypes.POINTER(item))[:n]
    if buffers[0]:
        bits = ctypes.string_at(buffers[0], (n + 7) // 8)
        out = [it if bits[i // 8] >> i % 8 & 1 else None for i, it in enumerate(out)]
    return out


def unit_of(schema):
    """The value of the metadata's first pair."""
    at = schema.metadata + 4
    for _ in range(2):
        n = ctypes.c_int32.from_address(at).value
        word = ctypes.string_at(at + 4, n).decode()
        at += 4 + n
    return word


def stream_rows(capsule):
    """(name, format, unit) of each column of a stream's capsule, and its rows, {name: value}. OSError."""
    at = POINTER_OF(capsule, b"arrow_array_stream")
    word = ctypes.cast(at, ctypes.POINTER(ctypes.c_void_p))
    schema, array, rows = Schema(), Array(), []
    _check(at, word, GET(word[0])(at, ctypes.addressof(schema)))
    columns = [(it.name.decode(), it.format.decode(), unit_of(it))
               for it in (schema.children[i].contents for i in range(schema.n_children))]
    schema.release(ctypes.addressof(schema))
    while True:
        _check(at, word, GET(word[1])(at, ctypes.addressof(array)))
        if not array.release:
            return columns, rows
        parts = [values(kind, array.children[i].contents) for i, (_, kind, _) in enumerate(columns)]
        rows += [dict(zip([name for name, _, _ in columns], row)) for row in zip(*parts)]
        array.release(ctypes.addressof(array))


def _check(at, word, status):
    if status:
        told = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(word[2])(at)
        raise OSError(status, (told or b"").decode(errors="replace") or os.strerror(status))
