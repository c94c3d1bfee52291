#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""truth_compare.py DUMP PROFILE [OTHER_PROFILE]

DUMP is tptdump's text of a window, PROFILE the chrome trace that torch.profiler wrote in the
same run (tests/progs/truth.py). The clocks of both agree to some microseconds: enough to know
which two optimizer steps bound the window. Compares what both saw between the ends of these two:
operators and ranges by name, order and nesting, shapes and types of inputs if there are any, links from backward to forward, tensor memory by address and size. OTHER_PROFILE
is torch.profiler's trace of a run without us: it must tell the same as PROFILE.
Prints one line of counts, or the first difference; status 1 on any.
"""
import json
import sys
from decimal import Decimal
from statistics import median

SLACK_NS = 5000  # between ends of steps, less what the two clocks are apart
OP, RANGE, STEP, ALLOC, FREE = 1, 2, 3, 4, 5
BACKWARD, EARLY = 64, 2


class Span:
    def __init__(self, begin, end, name, link=None, is_range=False, inputs=None):
        self.begin, self.end, self.name, self.link = begin, end, name, link
        self.is_range, self.inputs, self.depth = is_range, inputs, 0


TYPES = {0: "unsigned char", 1: "signed char", 2: "short", 3: "int", 4: "long int",
         5: "c10::Half", 6: "float", 7: "double", 11: "bool", 15: "c10::BFloat16"}
NONE, TENSOR, TENSOR_LIST, SCALAR, SCALAR_LIST, CUT = range(6)


def decode_shapes(text):
    """A SHAPES string -> [(type, shape)], as torch.profiler has them."""
    data, at, items = bytes.fromhex(text), 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def item():
        nonlocal at
        kind = data[at]
        at += 1
        if kind == TENSOR:
            dtype, n_dims = data[at], data[at + 1]
            at += 2
            return TYPES[dtype], [varint() for _ in range(n_dims)]
        if kind == TENSOR_LIST:
            n = data[at]
            at += 1
            return "TensorList", [item()[1] for _ in range(n)]
        return {SCALAR: "Scalar", SCALAR_LIST: "ScalarList", NONE: "", CUT: "cut"}[kind], []

    while at < len(data):
        items.append(item())
    return items


def read_dump(path):
    """Main thread's spans, memory events in order, (begin, end) of the steps."""
    spans, memory, steps, main, overloads, to_real = [], [], [], 0, 0, 0
    for line in open(path):
        tag, *field = line.rstrip("\n").split("\t")
        if tag == "BAD":
            sys.exit("damaged: " + line)
        if tag == "CLOCK":
            to_real = int(field[1]) - int(field[0])
        if tag == "THREAD" and int(field[3]) & 1:
            main = int(field[0])
        if tag != "EVENT":
            continue
        kind, begin, length = int(field[0]), int(field[1]), int(field[2])
        flags, thread, name = int(field[3], 16), int(field[4]), field[5]
        link, arg = int(field[6]), int(field[7], 16)
        if kind in (OP, RANGE) and thread == main and not flags & EARLY:
            if kind == OP and "::" in name and "." in name.split("::")[1]:
                overloads += 1
                name = name[:name.index(".", name.index("::"))]
            forward = (link, arg >> 32 & 0xffff) if kind == OP and flags & BACKWARD else None
            inputs = decode_shapes(field[8]) if field[8] != "-" else None
            spans.append(Span(begin + to_real, begin + length + to_real, name, forward, kind == RANGE,
                              inputs))
        elif kind == STEP:
            steps.append((begin + to_real, begin + length + to_real))
        elif kind in (ALLOC, FREE) and thread == main:
            memory.append((begin, arg, length if kind == ALLOC else None))
    return spans, memory, sorted(steps), overloads


def nest(spans):
    """Gives each its depth; in order of beginning. Starts and ends lie tens of nanoseconds
    apart on a thread, so that order is certain where durations alone are not."""
    waiting = []
    for span in sorted(spans, key=lambda s: s.end):
        span.inner = []
        while waiting and waiting[-1].begin > span.begin:
            span.inner.append(waiting.pop())
        waiting.append(span)
    stack = [(span, 0) for span in waiting]
    while stack:
        span, span.depth = stack.pop()
        stack += [(inner, span.depth + 1) for inner in span.inner]
    return sorted(spans, key=lambda s: s.begin)


def read_profile(path):
    """The same from torch.profiler's trace, times in nanoseconds of real time."""
    trace = json.load(open(path), parse_float=Decimal)
    events, base = trace["traceEvents"], trace.get("baseTimeNanoseconds", 0)
    spans, memory, main = [], [], None
    for event in events:
        if event.get("cat") in ("cpu_op", "user_annotation"):
            main = event["pid"] if main is None else main
            if event["tid"] != event["pid"]:
                continue
            begin = base + round(event["ts"] * 1000)
            sequence = event["args"].get("Sequence number"), event["args"].get("Fwd thread id")
            args = event["args"]
            inputs = None
            if "Input Dims" in args:
                inputs = list(zip(args["Input type"], args["Input Dims"]))
            spans.append(Span(begin, begin + round(event["dur"] * 1000), event["name"],
                              sequence, event["cat"] == "user_annotation", inputs))
        elif event["name"] == "[memory]" and event["tid"] == event["pid"]:
            args = event["args"]
            memory.append((base + round(event["ts"] * 1000), args["Addr"], args["Bytes"]))
    return spans, sorted(memory, key=lambda m: m[0])


def first_difference(what, ours, theirs):
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if a != b:
            around = slice(max(0, i - 3), i + 4)
            return "%s differ at %d:\n ours   %s\n theirs %s" % (
                what, i, ours[around], theirs[around])
    if len(ours) != len(theirs):
        return "%s: %d and %d; more: %s" % (what, len(ours), len(theirs),
                                            (ours + theirs)[min(len(ours), len(theirs)):][:3])
    return None


def step_around(spans, boundary):
    """Their optimizer step that ended, for us, at `boundary`: the one that was open then, or, as the clocks
    are some microseconds apart, the one whose end is nearest. The thread may wait long for a processor
    between our callback and theirs."""
    steps = [s for s in spans if s.name.startswith("Optimizer.step#")]
    return min(steps, key=lambda s: 0 if s.begin < boundary <= s.end else abs(s.end - boundary), default=None)


def compare(dump, profile):
    spans, memory, steps, overloads = read_dump(dump)
    their_spans, their_memory = read_profile(profile)
    if not steps:
        return "no steps in the window"
    boundaries = steps[0][0], steps[-1][1]
    around = [step_around(their_spans, boundary) for boundary in boundaries]
    if not all(around):
        return "torch.profiler saw no optimizer step"
    start, end = around[0].end, around[1].end

    ours = nest(spans)
    theirs = nest([s for s in their_spans if s.begin > start and s.end <= end])
    wrong = first_difference("spans", [(s.depth, s.name) for s in ours],
                             [(s.depth, s.name) for s in theirs])
    if wrong:
        return wrong
    # Theirs ends later: their callback comes after ours, in which windows begin and end.
    apart = median(t.begin - s.begin for s, t in zip(ours, theirs))
    for step, boundary in zip(around, boundaries):
        if not step.begin < boundary + apart <= step.end + SLACK_NS:
            return "torch.profiler saw no optimizer step end where the window did"
    n_shapes = 0
    for s, t in zip(ours, theirs):
        if s.inputs is None or t.inputs is None:
            continue
        n_shapes += 1
        if s.inputs != t.inputs:
            return "inputs of %s:\n ours   %s\n theirs %s" % (s.name, s.inputs, t.inputs)
    if n_shapes == 0 and any(t.inputs for t in theirs):
        return "no shapes were recorded"
    # torch.profiler gives every operator a number, also where none belongs to it: compared
    # where it links an autograd node to its forward operator.
    links = [(s.name, s.link, t.link) for s, t in zip(ours, theirs)
             if s.link is not None and s.link[0] != 0xffffffff]
    for name, link, their_link in links:
        if link != their_link:
            return "sequence number and forward thread of %s: %s and %s" % (
                name, link, their_link)

    # Blocks made before torch.profiler began are unknown to it: it leaves their end out.
    known, expected = set(), []
    for time, address, n_bytes in their_memory:
        if start < time <= end:
            expected.append((address, n_bytes if n_bytes > 0 else None))
        elif time <= start:
            (known.add if n_bytes > 0 else known.discard)(address)
    blocks = []
    for _, address, n_bytes in memory:
        if n_bytes is not None:
            known.add(address)
        elif address not in known:
            continue
        else:
            known.discard(address)
        blocks.append((address, n_bytes))
    wrong = first_difference("blocks", blocks, expected)
    if wrong:
        return wrong
    if not (spans and links and blocks and overloads):
        return "too little was compared"
    print("%d steps, %d operators, %d ranges, depth %d, %d links, %d shapes, "
          "%d memory events: equal" % (
        len(steps), sum(not s.is_range for s in ours), sum(s.is_range for s in ours),
        max(s.depth for s in ours), len(links), n_shapes, len(blocks)))
    return None


def compare_profiles(profile, other):
    spans, memory = read_profile(profile)
    other_spans, other_memory = read_profile(other)
    return first_difference("torch.profiler's spans",
                            [(s.depth, s.name, s.link) for s in nest(spans)],
                            [(s.depth, s.name, s.link) for s in nest(other_spans)]) or \
        first_difference("torch.profiler's blocks", [m[2] for m in memory],
                         [m[2] for m in other_memory])


def main():
    dump, profile, *other = sys.argv[1:]
    wrong = compare(dump, profile)
    if not wrong and other:
        wrong = compare_profiles(profile, other[0])
    if wrong:
        sys.exit(wrong)


main()
