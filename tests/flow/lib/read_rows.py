# SPDX-License-Identifier: Apache-2.0
"""read_rows.py RUN ROWS.jsonl: every table of every view by the library, all rows, as -f jsonl has them.

Read through the C structs alone, so that it needs no package.
"""

import ctypes
import decimal
import json
import math
import sys

import trainprof


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
        assert len(words) == len(set(words))
        is_there = ctypes.string_at(buffers[0], (n + 7) // 8) if buffers[0] else b"\xff" * ((n + 7) // 8)
        numbers = ctypes.cast(buffers[1], ctypes.POINTER(ctypes.c_int32))[:n]
        out = [words[it] if is_there[i // 8] >> i % 8 & 1 else None for i, it in enumerate(numbers)]
    else:
        item = ctypes.c_int64 if kind == "l" else ctypes.c_double
        out = ctypes.cast(buffers[1], ctypes.POINTER(item))[:n]
    if buffers[0]:
        bits = ctypes.string_at(buffers[0], (n + 7) // 8)
        out = [it if bits[i // 8] >> i % 8 & 1 else None for i, it in enumerate(out)]
        assert out.count(None) == array.null_count
    return out


def unit_of(schema):
    """The first pair of the metadata."""
    at, words = schema.metadata + 4, []
    for _ in range(4):
        n = ctypes.c_int32.from_address(at).value
        words.append(ctypes.string_at(at + 4, n).decode())
        at += 4 + n
    assert words[0] == "unit" and words[2] == "help"
    return words[1]


def fields(table):
    """(name, format, unit) of each, and the rows."""
    return stream_rows(table.__arrow_c_stream__())


def stream_rows(capsule):
    at = POINTER_OF(capsule, b"arrow_array_stream")
    word = ctypes.cast(at, ctypes.POINTER(ctypes.c_void_p))
    schema, array, rows = Schema(), Array(), []
    assert GET(word[0])(at, ctypes.addressof(schema)) == 0
    columns = [(it.name.decode(), it.format.decode(), unit_of(it))
               for it in (schema.children[i].contents for i in range(schema.n_children))]
    schema.release(ctypes.addressof(schema))
    assert not schema.release
    while True:
        assert GET(word[1])(at, ctypes.addressof(array)) == 0
        if not array.release:
            break
        assert 0 < array.length <= 1 << 16
        parts = [values(kind, array.children[i].contents) for i, (_, kind, _) in enumerate(columns)]
        rows += [dict(zip([name for name, _, _ in columns], row)) for row in zip(*parts)]
        array.release(ctypes.addressof(array))
        assert not array.release
    return columns, rows


def is_same(ours, theirs, unit):
    if unit in ("text", "place"):
        return str(theirs) == (ours or "")
    if isinstance(theirs, str) or theirs is None:
        return ours is None
    if unit in ("real", "percent", "bar"):
        # jsonl has six figures of percent, and as many decimals of a real number as people are shown.
        exponent = theirs.as_tuple().exponent if isinstance(theirs, decimal.Decimal) else 0
        return ours is not None and math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=0.51 * 10**exponent)
    return ours == theirs


def main(path, rows):
    theirs = {}
    for line in open(rows):
        row = json.loads(line, parse_float=decimal.Decimal)
        theirs.setdefault(row.pop("table"), []).append(row)
    run, n_rows = trainprof.open(path), 0
    for name in run.tables:
        columns, ours = fields(run[name])
        if not run[name].view:
            continue
        wanted = theirs.pop(name, [])
        assert len(ours) == len(wanted), (name, len(ours), len(wanted))
        for a, b in zip(ours, wanted):
            assert b.keys() <= a.keys(), (name, b.keys() - a.keys())
            for field, _, unit in columns:
                if field in b:
                    assert is_same(a[field], b[field], unit), (name, field, a[field], b[field])
                else:
                    assert a[field] is None, (name, field, a[field])
        n_rows += len(ours)
    assert not theirs, theirs.keys()
    assert n_rows > 20, n_rows
    print(n_rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
