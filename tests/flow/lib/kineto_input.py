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
       kineto_input.py ranks FOLDER N SLOW MS		made: N ranks, of which SLOW computes MS longer
       kineto_input.py comm ROWS N			what -v comm -f jsonl must say of them
       kineto_input.py kernels ORIGINAL ROWS		bytes of NCCL's collectives, as its kernels have them
       kineto_input.py counts ORIGINAL OURS.json	as many of each kind and name, at least one
"""
import collections
import glob
import gzip
import json
import os
import random
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
            # ROCm's GPUs are GPUs: 6 is 1.
            rows.append(("memory", {6: 1}.get(args["Device Type"], args["Device Type"]), begin,
                         args["Bytes"], args["Addr"], args.get("Total Allocated")))
        elif event["ph"] == "i":
            continue
        elif cat in DEVICE:
            shape = (str(args.get("grid")), str(args.get("block")), args.get("bytes"),
                     args.get("registers per thread"))
            rows.append((DEVICE[cat], name, begin, length, number(args.get("stream", event["tid"])),
                         args.get("correlation"), *shape))
        elif cat in ("cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime"):
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
    if name == "shuffled":
        random.Random(1).shuffle(events)
        return trace
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


STEPS = 6
ALL, PAIR, MESSAGE = 1 << 20, 3000, 777		# elements


def rank_of_job(rank, n, slow, more_ms):
    """A step: compute, all_reduce of all, all_gather of pairs, a message from 0 to 1."""
    events, correlation = [], 100

    def span(cat, name, start, dur, tid=50, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "ts": start, "dur": dur,
                       "pid": 0 if cat == "kernel" else 40 + rank, "tid": tid, "args": args})

    def collective(name, title, kernel, start, last, elements, group, ranks, dtype, **more):
        """`last`: when the last rank's begins."""
        nonlocal correlation
        correlation += 1
        span("cpu_op", "record_param_comms", start, 90, **{
            "Collective name": name, "dtype": dtype, "In msg nelems": elements,
            "Out msg nelems": elements, "Group size": len(ranks), "In split size": "[]",
            "Process Group Name": group[0], "Process Group Description": group[1],
            "Process Group Ranks": str(ranks), **more})
        span("user_annotation", "nccl:" + title, start + 10, 70)
        span("cuda_runtime", "cudaLaunchKernel", start + 20, 10, correlation=correlation)
        span("kernel", "ncclDevKernel_%s(ncclDevKernelArgsStorage<4096ul>)" % kernel, start + 40,
             last + 540 - start - 40, 20, correlation=correlation, device=0, context=1, stream=20,
             grid=[8, 1, 1], block=[512, 1, 1])

    pair = [rank - rank % 2, rank - rank % 2 + 1]
    for step in range(STEPS):
        begin = 1000 + 20000 * step
        late = begin + 3000 + more_ms * 1000
        span("user_annotation", "ProfilerStep#%d" % (step + 10), begin, 12000 + more_ms * 1000)
        own = late if rank == slow else begin + 3000
        span("cpu_op", "aten::mm", begin + 100, own - begin - 200)
        collective("allreduce", "all_reduce", "AllReduce_Sum_f32_RING_LL", own, late, ALL,
                   ("0", "default_pg"), list(range(n)), "Float")
        collective("_allgather_base", "_all_gather_base", "AllGather_RING_LL", late + 1000,
                   late + 1000, PAIR, (str(1 + rank // 2), "mesh_tp"), pair, "BFloat16")
        if rank < 2:
            way = {"Dst Rank": 1} if rank == 0 else {"Src Rank": 0}
            collective("send" if rank == 0 else "recv", "send 0->1" if rank == 0 else "recv 0<-1",
                       "SendRecv", late + 3000, late + 3000, MESSAGE, ("0", "default_pg"),
                       list(range(n)), "Half", **way)
        span("cpu_op", "aten::mul", late + 5000, 500)
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": n},
            "baseTimeNanoseconds": 1700000000000000000, "host_name": "here", "traceEvents": events}


def ranks(folder, n, slow, more_ms):
    os.makedirs(folder)
    for rank in range(int(n)):
        with gzip.open("%s/here_%d.1700.pt.trace.json.gz" % (folder, 40 + rank), "wt") as file:
            json.dump(rank_of_job(rank, int(n), int(slow), float(more_ms)), file)
    return True


def comm(rows, n):
    n = int(n)
    want = {("all_reduce", 4 * ALL, "f32", "default", n, n * STEPS),
            ("all_gather", 2 * 2 * PAIR, "bf16", "tp", 2, n * STEPS),
            ("send/recv", 2 * MESSAGE, "f16", "default", 2, 2 * STEPS)}
    with open(rows, encoding="utf-8") as file:
        table_rows = [row for row in map(json.loads, file) if "collective" in row]
    got = {(row["collective"].replace("nccl ", ""), row["bytes"], row["dtype"], row["group"],
            row["ranks"], row["calls"]) for row in table_rows}
    for row in table_rows:
        print(row)
    return got == want


BYTES = {"Byte": 1, "Char": 1, "Bool": 1, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "Long": 8,
         "Double": 8}


COMM_KEYS = ("Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "In split size",
             "Process Group Name", "Process Group Description", "Process Group Ranks")


def metadata(folder, ours):
    """What stood with record_param_comms stands with it and with the kernels that it started."""
    want, got = collections.Counter(), collections.Counter()
    for path in glob.glob(folder + "/*.json.gz"):
        for event in events_of(load(path)):
            if event["name"] == "record_param_comms":
                said = tuple(event["args"].get(key) for key in COMM_KEYS)
                want[("record_param_comms",) + said] += 1
                want[("kernel",) + said] += 1
    for path in [ours] if os.path.isfile(ours) else glob.glob(ours + "/*.json.gz"):
        for event in events_of(load(path)):
            if event["name"] == "record_param_comms" or event.get("cat") == "kernel":
                what = "kernel" if event["cat"] == "kernel" else event["name"]
                got[(what,) + tuple(event["args"].get(key) for key in COMM_KEYS)] += 1
    print(want - got, got - want)
    return want == got


def kernels(original, rows):
    want, got = collections.Counter(), collections.Counter()
    for event in events_of(load(original)):
        args = event.get("args") or {}
        if event.get("cat") == "kernel" and "Collective name" in args:
            size = args["In msg nelems"] * BYTES[args["dtype"]]
            if "gather" in args["Collective name"]:
                size *= args["Group size"]
            want[size] += 1
    with open(rows, encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["table"] == "collectives" and row["collective"].startswith("nccl "):
                got[row["bytes"]] += row["calls"]
    print(want, got)
    return want == got or not want


def counts(original, ours):
    # Kernels' names are demangled, and cut when they are pages long; kinds of memory translated.
    def count(path):
        return collections.Counter((row[0], row[1] if row[0] in ("host", "call") else "")
                                   for row in facts(load(path)).elements())
    want, got = count(original), count(ours)
    for row in list((want - got) + (got - want))[:5]:
        print(row, want[row], got[row])
    print("%d events" % sum(want.values()))
    return want == got and sum(want.values()) > 0


MORE = {"table": table, "ranks": ranks, "comm": comm, "counts": counts, "kernels": kernels,
        "metadata": metadata}


def main(what, *args):
    is_coarse = what == "-u"
    if is_coarse:
        what, *args = args
    if what == "same":
        return same(*args, is_coarse)
    if what in MORE:
        return MORE[what](*args)
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
