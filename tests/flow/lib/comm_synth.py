#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""comm_synth.py - Kineto traces of ranks that exchange data, as torch wrote them in 2021; always
the same

usage: comm_synth.py FOLDER RANKS LIBRARY

LIBRARY: nccl (a GPU each: ranges launch kernels, beside which a GEMM computes), gloo (ranges of
the host's own threads, no GPU), gloo-gpu (those, beside a GPU's work). Four steps; in each a
broadcast, an all-reduce of two sizes, a reduce-scatter and an all-gather. All ranks leave a
collective at the same time; who comes last changes.
"""
import json
import os
import random
import sys

folder, n_ranks, library = sys.argv[1], int(sys.argv[2]), sys.argv[3]
random_us = random.Random(11)
STEPS = 4
STEP_US = 40000
COLLECTIVES = (("broadcast", "Broadcast_RING_LL_Sum_int8_t", 53120, "float"),
               ("all_reduce", "AllReduce_RING_LL_Sum_float", 2049000, "float"),
               ("all_reduce", "AllReduce_RING_LL_Sum_half", 4096, "c10::Half"),
               ("reduce_scatter", "ReduceScatter_RING_LL_Sum_float", 800000, "float"),
               ("all_gather", "AllGather_RING_LL_Sum_int8_t", 1000, "long int"))


class Rank:
    def __init__(self, rank):
        self.rank = rank
        self.events = []
        self.n_ids = 100

    def span(self, cat, name, ts, dur, tid, **args):
        pid = 0 if cat == "Kernel" else 500 + self.rank
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                            "ts": ts, "dur": dur, "args": args})

    def operator(self, name, ts, dur, tid=1, **args):
        self.n_ids += 1
        args["External id"] = self.n_ids
        self.span("Operator", name, ts, dur, tid, **args)

    def kernel(self, name, call, ts, dur, stream):
        """Asked for by the operator before it."""
        launch = {"external id": self.n_ids, "correlation": self.n_ids}
        self.span("Runtime", "cudaLaunchKernel", call, 4, 1, **launch)
        self.span("Kernel", name, ts, dur, "stream %d" % stream, device=0, stream=stream,
                  grid=[64, 1, 1], block=[256, 1, 1], **launch)


ranks = [Rank(rank) for rank in range(n_ranks)]
for step in range(STEPS):
    begin = 1000 + STEP_US * step
    for one in ranks:
        one.operator("ProfilerStep#%d" % (step + 3), begin, STEP_US - 100)
        one.operator("aten::mm", begin + 10, 300)
        if library != "gloo":
            one.kernel("ampere_sgemm_128x64_tn", begin + 20, begin + 40,
                       15000 + random_us.randrange(2000), 7)
    for at, (kind, kernel, elements, dtype) in enumerate(COLLECTIVES):
        comes = [begin + 1000 + 7000 * at + random_us.randrange(3000) for _ in ranks]
        leaves = max(comes) + 1000 + random_us.randrange(500)
        for one, come in zip(ranks, comes):
            of = {"Input Dims": [[elements]], "Input type": [dtype]}
            if library == "nccl":
                one.operator("nccl:" + kind, come - 60, 30, **of)
                one.kernel("ncclKernel_%s(ncclWorkElem)" % kernel, come - 50, come, leaves - come,
                           20)
            else:
                one.operator("gloo:" + kind, come, leaves - come, 2, **of)

os.makedirs(folder, exist_ok=True)
for one in ranks:
    with open("%s/here_%d.1700.pt.trace.json" % (folder, 500 + one.rank), "w",
              encoding="utf-8") as out:
        json.dump({"schemaVersion": 1, "traceEvents": one.events, "distributedInfo": {
                      "backend": library[:4], "rank": one.rank, "world_size": n_ranks},
                   "deviceProperties": [] if library == "gloo" else [
                       {"id": 0, "name": "Invented A100", "numSms": 108, "computeMajor": 8,
                        "computeMinor": 0, "totalGlobalMem": 1 << 34,
                        "regsPerMultiprocessor": 65536, "sharedMemPerMultiprocessor": 167936,
                        "maxThreadsPerMultiprocessor": 2048,
                        "maxThreadsPerBlock": 1024, "warpSize": 32}]}, out)
