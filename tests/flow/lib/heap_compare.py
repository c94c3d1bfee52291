# SPDX-License-Identifier: Apache-2.0
"""The books of tests/progs/heap_truth.c against what tptdump shows of the trace.

usage: heap_compare.py LOG DUMP

Each thread's own events, in order, must be exactly the log's: kind, address, bytes. Over the
whole process each free must have its allocation, and what is left must be what the log leaves.
The counters of each thread must be what its events add up to.
"""

import collections
import sys

ALLOC, FREE = "18", "19"
MOVED = 1
# The clock may be read a few instructions early, see heap_event.h.
SLACK_NS = 100_000

wrong = 0
n_nested = 0


def complain(what):
    global wrong
    wrong += 1
    if wrong <= 20:
        print(what)


def read_dump(path):
    """Events as (time, kind, flags, address, bytes), of each thread by its tid; its counters."""
    global n_nested
    tid_of, by_slot, counters = {}, collections.defaultdict(list), {}
    for line in open(path, errors="replace"):
        word = line.rstrip("\n").split("\t")
        if word[0] == "THREAD":
            tid_of[word[1]] = int(word[2])
        elif word[0] == "BAD":
            complain(line.strip())
        elif word[0] == "END" and word[1].startswith("heap.thread."):
            number = [int(text) for text in word[1].split("=")[1].split(",")]
            counters[number[0]] = number[1:]
        elif word[0] == "END" and word[1].startswith("heap.nested="):
            n_nested = int(word[1].split("=")[1])
        elif word[0] == "EVENT" and word[1] in (ALLOC, FREE):
            by_slot[word[5]].append((int(word[2]), word[1], int(word[4], 16), int(word[8], 16),
                                     int(word[3])))
    return {tid_of[slot]: events for slot, events in by_slot.items()}, counters


def read_log(path):
    threads = collections.defaultdict(list)
    for line in open(path):
        tid, what, block, size, old = line.split("\t")
        block, size, old = int(block, 16), int(size), int(old, 16)
        if what == "A":
            threads[int(tid)].append((ALLOC, 0, block, size))
        elif what == "F":
            threads[int(tid)].append((FREE, 0, block, 0))
        else:
            threads[int(tid)].append((FREE, MOVED, old, 0))
            threads[int(tid)].append((ALLOC, MOVED, block, size))
    return threads


def compare_thread(tid, log, events):
    got = [(kind, flags, address, size) for _, kind, flags, address, size in events]
    times = [event[0] for event in events]
    if times != sorted(times):
        complain(f"thread {tid}: times go back")
    try:
        begin = got.index(log[0])
    except ValueError:
        complain(f"thread {tid}: its first mark is missing")
        return
    got = got[begin:begin + len(log)]
    if got != log:
        at = next((i for i, pair in enumerate(zip(got, log)) if pair[0] != pair[1]), len(got))
        complain(f"thread {tid}: event {at} of {len(log)}: got {got[at:at + 2]}, "
                 f"log {log[at:at + 2]}")


def compare_counters(tid, events, counters):
    wanted = [sum(event[1] == kind and not event[2] & MOVED for event in events)
              for kind in (ALLOC, FREE)]
    # Calls from inside the profiler are counted, not recorded: a few where stacks are learnt.
    if counters[1] != wanted[1] or not 0 <= counters[0] - wanted[0] <= n_nested:
        complain(f"thread {tid}: counted {counters[:2]}, recorded {wanted}")


def pair(events):
    """By time; a free may stand behind the next allocation of its address by SLACK_NS."""
    live, ahead = {}, {}
    n_unknown = 0
    for time, kind, _, address, size in sorted(events, key=lambda event: event[0]):
        if kind == ALLOC:
            if address in live:
                ahead[address] = (time, size)
            else:
                live[address] = size
        elif address in ahead:
            then, size = ahead.pop(address)
            live[address] = size
            if time - then > SLACK_NS:
                complain(f"{address:x} is given out twice, {time - then} ns before it is free")
        elif address in live:
            del live[address]
        else:
            n_unknown += 1
    for address in ahead:
        complain(f"{address:x} is given out twice")
    return live, n_unknown


log, (dump, counted) = read_log(sys.argv[1]), read_dump(sys.argv[2])
for tid, lines in log.items():
    compare_thread(tid, lines, dump.get(tid, []))
    if tid not in counted:
        complain(f"thread {tid}: no counters")
    else:
        compare_counters(tid, dump.get(tid, []), counted[tid])
left = {}
count = collections.Counter()
for lines in log.values():
    for kind, _, address, size in lines:
        count[address] += 1 if kind == ALLOC else -1
for lines in log.values():
    for kind, _, address, size in lines:
        if kind == ALLOC and count[address] == 1:
            left.setdefault(address, set()).add(size)
live, n_unknown = pair([event for events in dump.values() for event in events])
for address, sizes in left.items():
    if live.get(address) not in sizes:
        complain(f"{address:x} is left, of {sizes} bytes; the trace has {live.get(address)}")
if any(n not in (0, 1) for n in count.values()):
    complain("the log itself is wrong")
# What the C library frees of before the window: its own, not the program's.
if n_unknown > 2 * len(dump):
    complain(f"{n_unknown} frees of unknown blocks")
print(f"{sum(map(len, log.values()))} events, {wrong} wrong")
sys.exit(wrong != 0)
