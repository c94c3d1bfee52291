#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_kernels.py - is every kernel of a Kineto trace in our result once, where it belongs?

usage: compare_kernels.py [--device-only] ORIGINAL.json[.gz] RESULT.json[.gz]

Both are Kineto's form; the result went through a replay. Work of devices (kernels, copies,
sets) is matched by device, stream, name and order in time. Of each piece are compared: its length,
launch configuration or bytes, the call that started it, the innermost operator and range around that
call, and the training step around that. In the result the operator that External id names must
be the one that encloses the call, or the collective that does. Calls that the library does not
ask for are left out of account. --device-only: the host was late in the replay, so that work
seems to begin before its call; what hangs on that is skipped. Prints one TAP line a question,
without the plan.
"""
import bisect
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kineto_read  # noqa: E402
from kineto_read import whole  # noqa: E402

WORK = ("kernel", "memcpy", "memset")
SHOWN = 4
# Device times pass from one clock to another and back, by a line through readings of both:
# a nanosecond by rounding, and where it lies by what the readings are apart.
LENGTH_NS = 2
START_NS = 2000


class Ranges:
    """The ranges of one host thread that nest: which is innermost at a time?"""

    def __init__(self, events):
        # Boundaries of innermost ranges: from times[i] on, inner[i] is it.
        self.times, self.inner = [], []
        events = sorted(events, key=lambda e: (e.start, e.start - e.end, e.external() or 0))
        stack = []
        for event in events:
            self.close(stack, event.start)
            stack.append(event)
            self.mark(event.start, event)
        self.close(stack, None)

    def close(self, stack, until):
        while stack and (until is None or stack[-1].end <= until):
            ended = stack.pop()
            self.mark(ended.end, stack[-1] if stack else None)

    def mark(self, time, event):
        if self.times and self.times[-1] == time:
            self.inner[-1] = event
        else:
            self.times.append(time)
            self.inner.append(event)

    def at(self, time):
        place = bisect.bisect_right(self.times, time) - 1
        return self.inner[place] if place >= 0 else None


class Trace:
    def __init__(self, path):
        trace = kineto_read.load(path)
        kineto_read.canonical_names(trace["traceEvents"])
        events, _, _ = kineto_read.events_of(trace)
        self.work = [e for e in events if e.kind in WORK]
        self.zero = min((e.start for e in self.work), default=0)
        threads = collections.defaultdict(list)
        steps = []
        for event in events:
            if event.kind != "range":
                continue
            if event.name.startswith("ProfilerStep#"):
                steps.append(event)
            else:
                threads[kineto_read.thread_of(event)].append(event)
        self.ranges = {thread: Ranges(of_thread) for thread, of_thread in threads.items()}
        self.operators = {thread: Ranges([e for e in of_thread if is_operator(e)])
                          for thread, of_thread in threads.items()}
        # Work of before the first step and after the last is of none.
        steps.sort(key=lambda e: e.start)
        self.steps = steps
        self.step_starts = [step.start for step in steps]
        self.calls = collections.defaultdict(list)
        for event in events:
            if event.kind == "api":
                self.calls[event.correlation()].append(event)
        self.by_external = collections.defaultdict(list)
        for event in events:
            if event.kind == "range" and isinstance(event.external(), int):
                self.by_external[event.external()].append(event)
        self.n_calls = sum(not kineto_read.NOT_RECORDED.match(call.name)
                           for calls in self.calls.values() for call in calls)
        self.n_ranges = len([e for e in events if e.kind == "range"])

    def call_of(self, event):
        """The newest call with its correlation that began before it."""
        calls = self.calls.get(event.correlation(), ())
        return max((c for c in calls if c.start <= event.end or len(calls) == 1),
                   key=lambda c: c.start, default=None)

    def around(self, call):
        """(innermost operator, innermost range)"""
        thread = kineto_read.thread_of(call)
        return tuple(of[thread].at(call.start) if thread in of else None
                     for of in (self.operators, self.ranges))

    def step_of(self, call):
        place = bisect.bisect_right(self.step_starts, call.start) - 1
        if place < 0 or (place == len(self.steps) - 1 and call.start >= self.steps[-1].end):
            return None
        return place

    def rows(self):
        """{(device, stream, kind, name): [(event, call, operator, range)] in time's order}"""
        rows = collections.defaultdict(list)
        for event in self.work:
            call = self.call_of(event)
            rows[event.device(), event.stream(), event.kind, event.name].append(
                (event, call) + (self.around(call) if call else (None, None)))
        for of_name in rows.values():
            of_name.sort(key=order)
        return rows


def is_operator(event):
    return event.cat.lower() in ("cpu_op", "operator")


class Tap:
    def __init__(self):
        self.n_failed = 0
        self.is_device_only = "--device-only" in sys.argv
        if self.is_device_only:
            sys.argv.remove("--device-only")

    def ask(self, what, wrong, is_of_host=False):
        if is_of_host and self.is_device_only and wrong:
            print("ok - %s # SKIP the replay was late: %d differences" % (what, len(wrong)))
            return
        print("%sok - %s" % ("not " if wrong else "", what))
        for text in wrong[:SHOWN]:
            print("# %s" % text)
        if len(wrong) > SHOWN:
            print("# ... and %d more" % (len(wrong) - SHOWN))
        self.n_failed += bool(wrong)


def launch_facts(event):
    args = event.args
    if event.kind != "kernel":
        return ("bytes", whole(args.get("bytes"), 0))
    return (tuple(map(int, args.get("grid") or ())), tuple(map(int, args.get("block") or ())),
            whole(args.get("registers per thread"), 0), whole(args.get("shared memory"), 0))


def name_of(event):
    return event.name if event else "-"


def main():
    tap = Tap()
    original, result = Trace(sys.argv[1]), Trace(sys.argv[2])
    wanted, got = original.rows(), result.rows()
    tap.ask("%d pieces of device work, each there once" % len(original.work),
            ["%d instead of %d: %r" % (len(got.get(key, ())), len(wanted.get(key, ())), key)
             for key in sorted(set(wanted) | set(got))
             if len(got.get(key, ())) != len(wanted.get(key, ()))])
    wrong = collections.defaultdict(list)
    n_found = n_operators = 0
    for name, rows in wanted.items():
        for (event, call, operator, around), (our, our_call, our_operator, our_around) in zip(
                rows, got.get(name, ())):
            key = (event.start - original.zero,) + name
            n_found += 1
            apart = our.start - result.zero - (event.start - original.zero)
            if abs(apart) > START_NS:
                wrong["start"].append("%s: %d ns off" % (key, apart))
            if abs(our.end - our.start - (event.end - event.start)) > LENGTH_NS:
                wrong["length"].append("%s: %d ns, was %d" % (
                    key, our.end - our.start, event.end - event.start))
            if "grid" in event.args or event.kind != "kernel":
                if launch_facts(our) != launch_facts(event):
                    wrong["launch"].append("%s: %s, was %s" % (
                        key, launch_facts(our), launch_facts(event)))
            if name_of(our_call) != name_of(call):
                wrong["call"].append("%s: %s, was %s" % (key, name_of(our_call), name_of(call)))
            if call is None or our_call is None:
                continue
            if name_of(our_operator) != name_of(operator):
                wrong["operator"].append("%s: %s, was %s" % (
                    key, name_of(our_operator), name_of(operator)))
            if name_of(our_around) != name_of(around):
                wrong["range"].append("%s: %s, was %s" % (
                    key, name_of(our_around), name_of(around)))
            if operator:
                n_operators += 1
                named = result.by_external.get(our.external(), ())
                if our_operator not in named and our_operator is not None and \
                        not any(e.name.startswith("nccl:") for e in named):
                    wrong["external"].append("%s: External id %s is %s, around its call is %s" % (
                        key, our.external(), [e.name for e in named], name_of(our_operator)))
            if result.step_of(our_call) != original.step_of(call):
                wrong["step"].append("%s: step %s, was %s" % (
                    key, result.step_of(our_call), original.step_of(call)))
    tap.ask("%d lengths, within %d ns" % (n_found, LENGTH_NS), wrong["length"])
    tap.ask("where they lie, within %d ns" % START_NS, wrong["start"])
    tap.ask("grids, blocks, registers, shared memory, bytes", wrong["launch"])
    tap.ask("the calls that started them", wrong["call"])
    tap.ask("the operators around %d of the calls" % n_operators, wrong["operator"])
    tap.ask("the innermost ranges around them", wrong["range"])
    tap.ask("External id names the operator", wrong["external"],
            is_of_host=True)
    tap.ask("the steps, %d of them" % len(original.steps), wrong["step"] + (
        [] if len(original.steps) == len(result.steps) else
        ["%d steps, were %d" % (len(result.steps), len(original.steps))]),
            is_of_host=len(original.steps) == len(result.steps))
    tap.ask("%d calls" % original.n_calls, [] if original.n_calls == result.n_calls else
            ["%d calls" % result.n_calls])
    tap.ask("%d ranges" % original.n_ranges, [] if original.n_ranges == result.n_ranges else
            ["%d ranges" % result.n_ranges])
    sys.exit(tap.n_failed > 0)


def order(row):
    event, call = row[:2]
    return (event.start, event.end, event.correlation() == 0, launch_facts(event),
            call.start if call else 0)


if __name__ == "__main__":
    main()
