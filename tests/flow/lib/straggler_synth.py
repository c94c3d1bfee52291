#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""straggler_synth.py - Kineto traces of some ranks on GPUs, one of which may be slow; always the same

usage: straggler_synth.py FOLDER RANKS CAUSE

Ten steps of 40 ms: a GEMM, two all-reduces of NCCL, an operator each. CAUSE: none; kernel (the last
rank's GEMM takes 5 ms more), host (5 ms pass before it launches), loader (5 ms more in its loader).
No two ranks do anything at quite the same time. All ranks leave a collective together.
"""
import json
import random
import sys

folder, n_ranks, cause = sys.argv[1], int(sys.argv[2]), sys.argv[3]
random_us = random.Random(7)
events = [[] for _ in range(n_ranks)]
now = [1000.0] * n_ranks
correlation = 0


def span(rank, cat, name, start, end, tid, **args):
    events[rank].append({"ph": "X", "cat": cat, "name": name, "pid": 0 if tid == 7 else 100 + rank,
                         "tid": tid, "ts": start, "dur": end - start, "args": args})


def launch(rank, op, kernel, start):
    global correlation
    correlation += 1
    span(rank, "cpu_op", op, start, start + 30, 1)
    span(rank, "cuda_runtime", "cudaLaunchKernel", start + 5, start + 15, 1, correlation=correlation)
    return {"name": kernel, "args": {"correlation": correlation, "device": 0, "stream": 7,
                                     "grid": [64, 1, 1], "block": [256, 1, 1]}}


def run(rank, kernel, start, end):
    span(rank, "kernel", kernel["name"], start, end, 7, **kernel["args"])


for step in range(10):
    begin = max(now)
    ready = []
    for r in range(n_ranks):
        slow = r == n_ranks - 1
        at = begin + random_us.random() * 50
        loaded = at + 300 + (5000 if slow and cause == "loader" else 0)
        span(r, "user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at,
             loaded, 1)
        at = loaded + 100 + (5000 if slow and cause == "host" else 0)
        gemm = launch(r, "aten::mm", "ampere_sgemm_128x64_tn", at)
        end = at + 20 + 20000 + (5000 if slow and cause == "kernel" else 0) + random_us.random() * 100
        run(r, gemm, at + 20, end)
        ready.append(end)
    for _ in range(2):
        end = max(ready) + 2000
        for r in range(n_ranks):
            nccl = launch(r, "c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", ready[r] - 200)
            run(r, nccl, ready[r] + 10, end + random_us.random() * 5)
            ready[r] = end + 10 + random_us.random() * 50
    for r in range(n_ranks):
        now[r] = ready[r] + 200
        span(r, "user_annotation", "ProfilerStep#%d" % step, begin, now[r], 1)
    top = max(now)
    now = [top] * n_ranks

for r in range(n_ranks):
    with open("%s/rank%d.json" % (folder, r), "w") as out:
        json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": r,
                                                           "world_size": n_ranks},
                   "deviceProperties": [{"id": 0, "name": "Invented A100", "numSms": 108}],
                   "traceEvents": events[r]}, out)
