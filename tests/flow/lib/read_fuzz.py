# SPDX-License-Identifier: Apache-2.0
"""read_fuzz.py FOLDER SEEDS N [FIRST]: damaged runs by the package, N of them: all its own tables, those of a view and
its text. SEEDS has the inputs of tests/fuzz/bundle.h: traces, ledgers, rings, node files, torch.profiler's JSON.

A turn's number makes its damage; FOLDER/turn has the last one, for a crash of the interpreter."""

import gzip
import os
import random
import shutil
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../golden"))

import trainprof  # noqa: E402
from decode import xxh64  # noqa: E402
from trainprof.rows import stream_rows  # noqa: E402

SUFFIX = ("tpt", "tpt.part", "steps", "ring", "tpn", "pt.trace.json", "pt.trace.json.gz", "hang", "oom")
RING, SEALED = 3, (0, 1, 4)
RING_MOST = 2 << 20
HEAD = 128  # bytes of a file's head and of a block's; the checksum is their last 8
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 62, 1 << 63, (1 << 64) - 1)


class Pieces:
    """A trace or node file: its head, and blocks as (head, payload, unpacked)."""

    def __init__(self, data):
        self.head, self.block, at = data[:HEAD], [], HEAD
        while data[at:at + 4] == b"TBLK":
            stored, = struct.unpack_from("<I", data, at + 16)
            head, payload = bytearray(data[at:at + HEAD]), data[at + HEAD:at + HEAD + stored]
            if head[5] == 1:
                payload = subprocess.run(["zstd", "-dc"], input=payload, check=True, stdout=subprocess.PIPE).stdout
                head[5] = 0
            self.block.append((head, payload))
            at += HEAD + stored
        self.rest = data[at:]

    def damaged(self, chance):
        """With something changed in a block, and lengths and checksums that are right."""
        which, out = chance.randrange(len(self.block)), bytearray(self.head)
        if not chance.randrange(8):
            change(out, chance, HEAD - 8)
        out[HEAD - 8:HEAD] = struct.pack("<Q", xxh64(bytes(out[:HEAD - 8])))
        for at, (head, payload) in enumerate(self.block):
            head, payload = bytearray(head), bytearray(payload)
            if at == which:
                change(head if not payload or not chance.randrange(4) else payload, chance, HEAD - 8)
            struct.pack_into("<II", head, 12, len(payload), len(payload))
            head[HEAD - 8:] = struct.pack("<Q", xxh64(bytes(head[:HEAD - 8]) + bytes(payload)))
            out += head + payload
        return out + self.rest


def change(data, chance, n_head):
    """A few bytes or numbers of it; of a head those before its checksum."""
    n = n_head if len(data) == HEAD else len(data)
    for _ in range(1 + chance.randrange(6)):
        at = chance.randrange(n)
        if chance.randrange(2):
            data[at] = chance.randrange(256)
        else:
            wide = struct.pack("<Q", chance.choice(EXTREMES))[:min(chance.choice((1, 2, 4, 8)), n - at)]
            data[at:at + len(wide)] = wide


def members_of(bundle):
    """[(suffix, bytes, Pieces or None)]"""
    found, at = [], 4
    while len(bundle) - at > 4:
        kind, n = bundle[at] % len(SUFFIX), int.from_bytes(bundle[at + 1:at + 4], "little")
        data = bundle[at + 4:at + 4 + n]
        at += 4 + n
        if kind == RING:
            data = ring(data)
        found.append((SUFFIX[kind], data, Pieces(data) if kind in SEALED else None))
    return found


def ring(member):
    """Megabytes of zeros: the length, then pieces (where, length, bytes)."""
    out, at = bytearray(min(struct.unpack_from("<Q", member)[0], RING_MOST)), 8
    while len(member) - at > 6:
        where, n = struct.unpack_from("<IH", member, at)
        out[where:where + n] = member[at + 6:at + 6 + n]
        at += 6 + n
    return bytes(out)


def damaged(member, chance):
    suffix, data, pieces = member
    how = chance.randrange(4)
    if pieces and pieces.block and how:
        return pieces.damaged(chance)
    if how == 1:
        return data[:chance.randrange(len(data))]
    out = bytearray(data)
    if suffix == "ring":
        # Most of it is zeros that nobody reads: near what is there.
        at = chance.choice([i for i in range(0, len(out), 64) if any(out[i:i + 64])])
        part = out[at:at + 64]
        change(part, chance, len(part))
        out[at:at + 64] = part
    else:
        change(out, chance, len(out))
    return out


def write_run(folder, members, chance):
    """The files of a run, one or two of them damaged; the paths that it is opened by."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    hit = {chance.randrange(len(members)) for _ in range(1 + chance.randrange(2))}
    paths = []
    for at, member in enumerate(members):
        paths.append(os.path.join(folder, "rank%d.%s" % (at, member[0])))
        with open(paths[-1], "wb") as file:
            data = damaged(member, chance) if at in hit else member[1]
            file.write(gzip.compress(data, 1) if member[0].endswith(".gz") else data)
    return paths if chance.randrange(2) else [folder]


def read_run(paths, chance):
    """Rows of all tables of the library, and of one view."""
    n_rows = 0
    with trainprof.open(*paths) as run:
        view = chance.choice(sorted({run[name].view for name in run.tables} - {""}))
        for name in run.tables:
            if run[name].view in ("", view):
                n_rows += len(stream_rows(run[name].__arrow_c_stream__())[1])
        run.text(view)
    return n_rows


def main(folder, seeds, n, first="0"):
    os.makedirs(folder, exist_ok=True)
    runs = []
    for name in sorted(os.listdir(seeds)):
        with open(os.path.join(seeds, name), "rb") as file:
            runs.append(members_of(file.read()))
    n_rows, n_errors = 0, 0
    with open(os.path.join(folder, "turn"), "w") as last:
        for turn in range(int(first), int(first) + int(n)):
            last.seek(0)
            last.write("%d\n" % turn)
            last.flush()
            chance = random.Random(turn)
            paths = write_run(os.path.join(folder, "run"), chance.choice(runs), chance)
            try:
                n_rows += read_run(paths, chance)
            except trainprof.Error as error:
                # Ours has the run's path before what the library says.
                assert "'%s" % folder in str(error), (turn, error)
                n_errors += 1
            except Exception:
                print("turn", turn)
                raise
    print("%s damaged runs: %d rows, %d errors that name the file" % (n, n_rows, n_errors))
    assert n_rows and n_errors < int(n) * 3 // 4, "hardly one was read"


if __name__ == "__main__":
    main(*sys.argv[1:])
