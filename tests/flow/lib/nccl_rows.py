# SPDX-License-Identifier: Apache-2.0
"""Collectives and transfers of a trace, as lines in the form of the fake NCCL's books.

usage: tptdump FILE... | nccl_rows.py [--version N] [--times]

With --times also says, on lines that begin with "bad", what cannot be: a transfer that ends after
its collective, shares of waiting that do not make a whole, a flag that is out of place.
"""
import re
import sys

NO_SEQ = 0xFFFFFFFF
ASYNC, OPEN, ENQUEUED, AFTER, REPLAY = 1, 4, 8, 16, 32


def texts(name):
    return re.findall(r"'([^']*)'", name)


def field(name, key):
    return re.search(key + r"=(\S+)", name).group(1)


def main():
    times = "--times" in sys.argv
    ends, transfers = {}, []
    for line in sys.stdin:
        cells = line.rstrip("\n").split("\t")
        if cells[0] != "EVENT" or cells[1] not in ("23", "24"):
            continue
        begin, length, flags, name = int(cells[2]), int(cells[3]), int(cells[4], 16), cells[6]
        link, arg = int(cells[7]), int(cells[8], 16)
        seq = "-" if link == NO_SEQ else str(link)
        if cells[1] == "23":
            func, dtype, algo, proto = texts(name)[:4]
            print("coll", field(name, "hash"), func, seq, arg & (1 << 48) - 1, dtype, algo or "-",
                  proto or "-", field(name, "root"), field(name, "stream"),
                  "r" if flags & REPLAY else "-")
            if seq != "-" and not flags & ENQUEUED:
                ends[field(name, "hash"), func, seq] = begin + length
            if times and bool(flags & ENQUEUED) == bool(flags & ASYNC) and not flags & OPEN:
                print("bad flags", hex(flags), name)
        else:
            func = texts(name)[0]
            words = name.split()
            direction = "send" if "send" in words else "recv"
            print("xfer", field(name, "hash"), func or "-", seq, arg & (1 << 40) - 1,
                  field(name, "rank"), field(name, "peer"), field(name, "channel"), direction)
            shares = [arg >> 40 & 255, arg >> 48 & 255, arg >> 56 & 255]
            if times and not flags & OPEN and not 252 <= sum(shares) <= 258:
                print("bad shares", shares, name)
            if times and "foreign" in words and (func or seq != "-"):
                print("bad foreign", name)
            transfers.append((field(name, "hash"), func, seq, begin + length, name))
    for hash_, func, seq, end, name in transfers:
        # Within a clock's reading: it is read once for both.
        if times and (hash_, func, seq) in ends and end > ends[hash_, func, seq] + 2:
            print("bad end", name, end - ends[hash_, func, seq])


main()
