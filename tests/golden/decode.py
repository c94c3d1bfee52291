#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second reader of traces, written from trainprof-trace(5) alone: decode.py TRACE

Prints what tests/golden/listing.h prints. Where the two differ, the page or a program is wrong.
Needs the zstd program. Trusts its input: it is for files that are known to be good.
"""
import struct
import subprocess
import sys

M64 = (1 << 64) - 1


def xxh64(data):
    p1, p2, p3, p4, p5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                          0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)

    def rotate(x, n):
        return ((x << n) | (x >> (64 - n))) & M64

    def mix(acc, lane):
        return rotate((acc + lane * p2) & M64, 31) * p1 & M64

    at, n = 0, len(data)
    if n >= 32:
        acc = [(p1 + p2) & M64, p2, 0, -p1 & M64]
        while n - at >= 32:
            for i, lane in enumerate(struct.unpack_from("<4Q", data, at)):
                acc[i] = mix(acc[i], lane)
            at += 32
        h = sum(rotate(a, r) for a, r in zip(acc, (1, 7, 12, 18))) & M64
        for a in acc:
            h = ((h ^ mix(0, a)) * p1 + p4) & M64
    else:
        h = p5
    h = (h + n) & M64
    while n - at >= 8:
        h = (rotate(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & M64
        at += 8
    if n - at >= 4:
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * p1 & M64, 23) * p2 + p3) & M64
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & M64, 11) * p1 & M64
    h = (h ^ h >> 33) * p2 & M64
    h = (h ^ h >> 29) * p3 & M64
    return h ^ h >> 32


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        v = shift = 0
        while True:
            b = self.byte()
            v |= (b & 0x7F) << shift
            shift += 7
            if not b & 0x80:
                return v

    def is_used_up(self):
        return self.at == len(self.data)


def unzigzag(v):
    return v >> 1 ^ -(v & 1)


RUNS, DEFINITIONS, FORM, FORM_HIGH, GAP, SIZE, LINK, ARG, BITS = range(9)


class Columns:
    def __init__(self, payload):
        at, self.column = 36, []
        for n in struct.unpack_from("<9I", payload):
            self.column.append(Cursor(payload[at:at + n]))
            at += n
        assert at == len(payload)
        bits = self.column.pop().data
        assert bits[-8:] == bytes(8)
        self.n_bits = 8 * (len(bits) - 8)
        self.bits, self.bit = int.from_bytes(bits, "little"), 0
        self.forms, self.lists, self.link, self.address = [], {2: [], 3: []}, 0, 0

    def of_class(self, c):
        if c < 16:
            return c
        k = 2 + (c - 16) // 4
        b = self.bits >> self.bit & ((1 << k) - 1)
        self.bit += k
        return (4 + (c - 16) % 4) * 2 ** k + b

    def number(self, column):
        return self.of_class(self.column[column].byte())

    def near(self, column, form):
        form[column] = (form[column] + self.column[column].byte()) % 256
        return self.of_class(form[column])

    def definition(self):
        c = self.column[DEFINITIONS]
        kind, flags, model = c.byte(), c.byte(), c.byte()
        form = {"kind": kind, "flags": flags, "model": model, "name": c.varint(), "inner": 0,
                "len": 0, "link": 0, "arg": 0, GAP: 0, SIZE: 0}
        if model & 3 == 1:
            form["inner"] = c.varint()
        if not model & 12 and model & 3 in (0, 2):
            form["len"] = c.varint()
        if not model & 48:
            form["link"] = c.varint()
        if not model & 192:
            form["arg"] = c.varint()
        return form

    def record(self, thread):
        number = self.column[FORM].byte()
        if self.column[FORM_HIGH].data:
            number |= self.column[FORM_HIGH].byte() << 8
        if number == len(self.forms):
            self.forms.append(self.definition())
        form = self.forms[number]
        model = form["model"]
        times = model & 3
        gap = self.near(GAP, form)
        if times == 0:
            self.present = time = (self.present + gap) & M64
            self.stack.append(time)
        elif times == 1:
            size = self.near(SIZE, form)
            inner = form["inner"]
            if inner:
                self.present = (self.present + gap) & M64
                time = (self.stack[-inner] - size) & M64
                form["len"] = (self.present - time) & M64
                del self.stack[-inner:]
            else:
                time, form["len"] = (self.present + gap) & M64, size
                self.present = (time + size) & M64
            self.stack.append(time)
        else:
            time = (self.present + unzigzag(gap)) & M64
            if times == 3:
                form["len"] = self.near(SIZE, form)
        del self.stack[:-256]
        if model >> 2 & 3 == 1:
            form["len"] = (form["len"] + unzigzag(self.number(SIZE))) & M64
        form["len"] = min(form["len"], (1 << 48) - 1)
        if model >> 4 & 3 == 1:
            form["link"] = (form["link"] + unzigzag(self.number(LINK))) % (1 << 32)
        elif model >> 4 & 3 == 2:
            self.link = form["link"] = (self.link + unzigzag(self.number(LINK))) % (1 << 32)
        if model >> 6 == 1:
            form["arg"] = (form["arg"] + unzigzag(self.number(ARG))) & M64
        elif model >> 6:
            self.take_address(form)
        return (form["kind"], form["flags"], time, form["len"], form["name"], form["link"],
                form["arg"], thread)

    def take_address(self, form):
        which = form["model"] >> 6
        mine, other = self.lists[which], self.lists[5 - which]
        rank = self.number(ARG)
        if rank:
            form["arg"], length = mine.pop(-rank)
            if form["model"] >> 2 & 3 == 2:
                form["len"] = length
        else:
            self.address = form["arg"] = (self.address + unzigzag(self.number(ARG))) & M64
        if len(other) == 256:
            del other[:128]
        other.append((form["arg"], form["len"]))

    def begin(self):
        self.stack = []

    def records(self):
        base, runs = 0, self.column[RUNS]
        while not runs.is_used_up():
            thread, n = runs.varint(), runs.varint()
            base = (base + unzigzag(runs.varint())) & M64
            self.present = base
            self.begin()
            for _ in range(n):
                yield self.record(thread)
        assert all(c.is_used_up() for c in self.column)
        assert 0 <= self.n_bits - self.bit < 8


OTHERS, KIND, FRAMES, ADDRESS = DEFINITIONS, FORM, FORM_HIGH, ARG
M32 = (1 << 32) - 1
PYTHON, JOINED = 1, 2


class HeapColumns(Columns):
    def __init__(self, payload):
        super().__init__(payload)
        self.after, self.len_at, self.freed, self.ways = {}, {}, {}, {}
        self.stack = self.fresh = self.old = self.python = self.last_name = 0
        self.last_frame = 0
        self.last_arg = {0: 0, PYTHON: 0}
        self.allocs, self.places, self.frame_by_link = [], [], {}
        self.is_after_frame, self.last_free = False, None

    def begin(self):
        pass

    def difference(self, column):
        return unzigzag(self.number(column))

    def record(self, thread):
        kind = self.column[KIND].byte()
        flags = kind >> 3
        gap = self.column[GAP].byte()
        assert gap <= 251 or gap == 255
        self.present = (self.present + (self.difference(GAP) if gap == 255
                                        else self.of_class(gap))) & M64
        fields = (self.alloc, self.free, self.frame, self.other)[kind & 7](flags)
        self.is_after_frame = kind & 7 == 2
        number, flags, length, name, link, arg = fields
        return number, flags, self.present, length, name, link, arg, thread

    def offset(self, n):
        return self.difference(ADDRESS) * (16 if n else 1)

    def alloc(self, flags):
        n = self.number(LINK)
        if n:
            link = (self.stack + unzigzag(n - 1)) & M32
        elif self.is_after_frame:
            link = self.last_frame
        else:
            link = self.after.get(self.h(self.stack), 0)
        self.after[self.h(self.stack)] = self.stack = link
        length = (self.len_at.get(self.h(link), 0) + self.difference(SIZE)) & M64
        length = self.len_at[self.h(link)] = min(length, (1 << 48) - 1)
        n = self.number(ADDRESS)
        freed = self.freed.setdefault(self.u(length) % 1024, [])
        if n <= 1:
            arg = (self.fresh + self.offset(n)) & M64
            self.fresh = arg + 16 * self.u(length)
        elif n == 2:
            entry, where = self.last_free
            arg = entry[0]
            if where is not None and where and where[-1] is entry:
                where.pop()
        else:
            assert n <= 10
            arg = freed.pop(-(n - 3) - 1)[0]
        self.last_free = None
        self.allocs.append((arg, length))
        return 18, flags, length, 0, link, arg

    def free(self, flags):
        n = self.number(ADDRESS)
        where = None
        if n <= 1:
            arg = self.old = (self.old + self.offset(n)) & M64
        else:
            arg, length = self.allocs[-(n - 1)]
            where = self.freed.setdefault(self.u(length) % 1024, [])
        entry = [arg]
        if where is not None:
            where.append(entry)
        self.last_free = entry, where
        return 19, flags, 0, 0, 0, arg

    def frame(self, flags):
        link = (self.last_frame + 1 + self.difference(LINK)) & M32
        outer = (link - 1 - self.difference(FRAMES)) & M32
        name = place = 0
        if flags & JOINED:
            arg = (self.python + self.difference(ADDRESS)) & M64
        else:
            place = self.place(flags & PYTHON, outer)
            arg, name = self.places[place]
        self.frame_by_link[link % 16384] = link, place
        self.last_frame = link
        if flags & JOINED:
            self.python = arg & M32
        elif flags & PYTHON:
            self.python = link
        return 22, flags, outer, name, link, arg

    def place(self, python, outer):
        known = self.frame_by_link.get(outer % 16384)
        number = (1 + known[1]) % 4096 if outer and known and known[0] == outer else 0
        ways = self.ways.setdefault(number, [])
        n = self.number(FRAMES)
        if n:
            place = ways.pop(n - 1)
        else:
            back = self.number(FRAMES)
            place = len(self.places) - back
            assert place >= 0
            if not back:
                arg = self.last_arg[python] = (self.last_arg[python] +
                                               self.difference(ADDRESS)) & M64
                if python:
                    self.last_name = (self.last_name + self.difference(SIZE)) & M32
                self.places.append((arg, self.last_name if python else 0))
        ways.insert(0, place)
        del ways[4:]
        return place

    def other(self, flags):
        assert not flags
        c = self.column[OTHERS]
        kind, flags = c.byte(), c.byte()
        length, name, link, arg = (c.varint() for _ in range(4))
        return kind, flags, length, name, link, arg

    @staticmethod
    def h(x):
        return (x * 2654435761 & M32) >> 20

    @staticmethod
    def u(length):
        return max((length + 23) // 16, 2)


def show(data):
    print("".join(chr(b) if 0x20 < b < 0x7F and b != 0x5C else "\\x%02x" % b for b in data))


def list_block(kind, n_items, payload):
    if kind in (4, 5, 7):
        records = list((HeapColumns if kind == 7 else Columns)(payload).records())
        assert len(records) == n_items
        for r in records:
            print("event %d %d time %d len %d name %d link %d arg %d thread %d" % r)
    elif kind == 2:
        c = Cursor(payload)
        for _ in range(n_items):
            number, sort, n = c.varint(), c.varint(), c.varint()
            print("string %d kind %d" % (number, sort), end=" ")
            show(payload[c.at:c.at + n])
            c.at += n
    else:
        show(payload)


def list_file(data):
    (magic, major, minor, head_bytes, boot0, boot1, run, pid, window, rank, local, world, node,
     clock, restart) = struct.unpack_from("<QHHIQQQIIiiiiII", data)
    assert magic == 0x0A1A0A0D31545054 and data[:8] == b"TPT1\r\n\x1a\n" and major == 1
    assert struct.unpack_from("<Q", data, 120)[0] == xxh64(data[:120])
    print("file %d.%d boot %016x%016x run %016x pid %d window %d rank %d local %d world %d node "
          "%d clock %d restart %d" % (major, minor, boot0, boot1, run, pid, window, rank, local,
                                      world, node, clock, restart))
    at = head_bytes
    while at < len(data):
        (mark, kind, codec, own, n_items, raw, stored, sequence, first, last, anchor_ticks,
         anchor_mono, anchor_real, bracket, dropped, end) = struct.unpack_from(
             "<4sBBHIIIIQQQQQQQQ", data, at)
        assert mark == b"TBLK" and own == 128
        payload = data[at + 128:at + 128 + stored]
        assert struct.unpack_from("<Q", data, at + 120)[0] == xxh64(data[at:at + 120] + payload)
        if codec == 1:
            payload = subprocess.run(["zstd", "-dc"], input=payload, check=True,
                                     stdout=subprocess.PIPE).stdout
        assert len(payload) == raw
        print("block %d type %d items %d first %d last %d end %d dropped %d anchor %d %d %d %d" % (
            sequence, kind, n_items, first, last, end, dropped, anchor_ticks, anchor_mono,
            anchor_real, bracket))
        list_block(kind, n_items, payload)
        at += 128 + stored
    assert kind == 6
    print("whole 1 bad 0 cut 0")


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        list_file(file.read())
