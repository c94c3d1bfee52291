# SPDX-License-Identifier: Apache-2.0
"""kineto_input.py - is all of a torch.profiler trace in what trainprof-merge makes of it?

usage: kineto_input.py [-u] same ORIGINAL OURS.json	operators, annotations, calls, device work, memory:
						each with its time to the ns, one for one
						(-u: to the us, lengths not: rounded
						lengths reach beyond their parents')
       kineto_input.py table TABLE.json OURS.json	operators as torch's own table counts them
       kineto_input.py dialect NAME ORIGINAL TO		the trace as another version writes it
       kineto_input.py cut ORIGINAL TO PART		the first PART (0..1) of its bytes
       kineto_input.py hole ORIGINAL TO			with an event damaged in the middle
"""
import collections
import gzip
import json
import re
import sys
from decimal import Decimal

HOST = {"cpu_op", "Operator", "user_annotation", "cuda_runtime", "cuda_driver", "Runtime"}
DEVICE = {"kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "gpu_memcpy",
          "Memcpy": "gpu_memcpy", "gpu_memset": "gpu_memset", "Memset": "gpu_memset"}


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        text = file.read().decode("utf-8", "replace")
    # torch writes names as they are: this one is no JSON for anybody but us.
    text = text.replace('"a "range" /', '"a \\"range\\" /')
    return json.loads(text, strict=False, parse_float=Decimal)


def events_of(trace):
    return trace if isinstance(trace, list) else trace["traceEvents"]


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value(rounding="ROUND_HALF_UP"))


def number(value):
    found = re.search(r"-?\d+", str(value))
    return int(found.group()) & 0xffffffff if found else 0


def facts(trace):
    """What must be the same, as (kind, name, begin, length, thread or stream, more)."""
    base = int(trace.get("baseTimeNanoseconds", 0)) if isinstance(trace, dict) else 0
    rows = []
    for event in events_of(trace):
        if not isinstance(event, dict) or event.get("ph") not in ("X", "i"):
            continue
        args = event.get("args", {})
        cat, name = event.get("cat", ""), event.get("name", "")
        begin = base + ns(event["ts"]) if "ts" in event else 0
        length = ns(event.get("dur", 0))
        if name == "[memory]" and "Addr" in args:
            rows.append(("memory", args["Device Type"], begin, args["Bytes"], args["Addr"],
                         args.get("Total Allocated")))
        elif event["ph"] == "i":
            continue
        elif cat in DEVICE:
            shape = (str(args.get("grid")), str(args.get("block")), args.get("bytes"),
                     args.get("registers per thread"))
            rows.append((DEVICE[cat], name, begin, length, number(args.get("stream", event["tid"])),
                         args.get("correlation"), *shape))
        elif cat in ("cuda_runtime", "cuda_driver", "Runtime"):
            rows.append(("call", name, begin, length, number(event["tid"]),
                         args.get("correlation")))
        elif cat in HOST:
            more = (str(args.get("Input Dims")), str(args.get("Input type")),
                    args.get("Sequence number"))
            rows.append(("host", name, begin, length, number(event["tid"]), *more))
    zero = min((row[2] for row in rows), default=0)
    return collections.Counter((row[0], row[1], row[2] - zero, *row[3:]) for row in rows)


def loosen(counter):
    """Lists of tensors lose their types, inputs that are nothing their spelling."""
    result = collections.Counter()
    for row, n in counter.items():
        if row[0] == "host":
            dims = re.sub(r"\s", "", row[5])
            row = (*row[:5], "" if re.fullmatch(r"\[(\[\],?)*\]|None", dims) else dims, row[7])
            # Tracks may hold what overlaps on rows of their own.
            row = (*row[:4], row[4] % 10000000, *row[5:])
        result[row] += n
    return result


def coarse(counter):
    return collections.Counter((row[0], row[1], row[2] // 1000, *row[4:])
                               for row in counter.elements())


def same(original, ours, is_coarse):
    want, got = loosen(facts(load(original))), loosen(facts(load(ours)))
    if is_coarse:
        want, got = coarse(want), coarse(got)
    missing, more = want - got, got - want
    for label, rows in (("missing", missing), ("too many", more)):
        for row in list(rows)[:5]:
            print(label, row)
    print("%d facts, %d missing, %d too many" % (sum(want.values()), sum(missing.values()),
                                                  sum(more.values())))
    return not missing and not more and sum(want.values()) > 0


def table(torch_rows, ours):
    with open(torch_rows) as file:
        # The trace has other strokes than the table.
        want = {name.replace("\\", "/"): (count, total)
                for name, count, _, total in json.load(file)}
    got = collections.defaultdict(lambda: [0, Decimal(0)])
    for event in events_of(load(ours)):
        if event.get("ph") == "X" and event.get("cat") in ("cpu_op", "user_annotation"):
            got[event["name"]][0] += 1
            got[event["name"]][1] += event["dur"]
    bad = 0
    for name, (count, total) in want.items():
        if name.startswith("ProfilerStep") or name == "aten::detach_":
            continue
        if got[name][0] < count:
            print("%s: %d calls, torch says %d" % (name, got[name][0], count))
            bad += 1
    return not bad and len(want) > 20


def as_dialect(name, trace):
    """What older torches wrote, and programs that only write the array."""
    events = events_of(trace)
    if name == "array":
        return events
    if name == "rank_last":
        info = {"backend": "nccl", "rank": 3, "world_size": 8}
        return {**{k: v for k, v in trace.items() if k != "distributedInfo"},
                "distributedInfo": info}
    assert name == "old"
    words = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "kernel": "Kernel",
             "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}
    for event in events:
        event["cat"] = words.get(event.get("cat"), event.get("cat", ""))
        if event.get("cat") == "user_annotation":
            event["cat"] = "Operator"
        if isinstance(event.get("tid"), int) and event["cat"] == "Operator":
            event["tid"] = str(event["tid"])
        for key in ("ts", "dur"):
            if key in event:
                event[key] = int(event[key])
    trace.pop("baseTimeNanoseconds", None)
    return trace


def save(trace, path):
    text = json.dumps(trace, default=float, indent=1).encode()
    # Two members, as programs write them that compress in parallel.
    half = len(text) // 2
    with open(path, "wb") as file:
        file.write(gzip.compress(text[:half]) + gzip.compress(text[half:])
                   if path.endswith(".gz") else text)


def main(what, *args):
    is_coarse = what == "-u"
    if is_coarse:
        what, *args = args
    if what == "same":
        return same(*args, is_coarse)
    if what == "table":
        return table(*args)
    if what == "dialect":
        save(as_dialect(args[0], load(args[1])), args[2])
        return True
    with open(args[0], "rb") as file:
        data = file.read()
    with open(args[1], "wb") as file:
        if what == "cut":
            file.write(data[:int(len(data) * float(args[2]))])
        else:
            at = data.index(b'"ph"', len(data) // 2)
            file.write(data[:at] + b'"ph" oops ]}' + data[at + 20:])
    return True


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
