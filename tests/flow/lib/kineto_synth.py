#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kineto_synth.py - a small Kineto trace of a training that never was, always the same

usage: kineto_synth.py OUT.json[.gz] [old|new]

Six steps on one invented A100: a data loader, forward operators on one thread, backward on
another, an optimizer; a second stream with copies that waits for events; one CUDA graph
launch that owns 20 kernels; one kernel whose call was cut off; memory events; whole steps
idle in between. `old` writes categories, keys and whole microseconds as in 2021, `new` as
since 2023. So the chain from trace to result runs where no real trace is at hand.
"""
import gzip
import json
import random
import sys

SMS = 108
PID, MAIN, BACKWARD = 4242, 4242, 4243
OLD = {"cpu_op": "Operator", "user_annotation": "Operator", "cuda_runtime": "Runtime",
       "kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}
DEVICE = {"id": 0, "name": "Invented A100", "totalGlobalMem": 42297524224, "computeMajor": 8,
          "computeMinor": 0, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
          "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "warpSize": 32,
          "sharedMemPerBlock": 49152, "sharedMemPerMultiprocessor": 167936, "numSms": SMS,
          "sharedMemPerBlockOptin": 166912}
# name, grid, block, registers, shared memory, resident blocks on one multiprocessor of DEVICE
# (by its threads, its registers, or the most of 32 blocks: counted by hand)
KERNELS = {
    "aten::linear": [("ampere_sgemm_128x64_tn", (16, 8, 1), (256, 1, 1), 122, 12288, 2)],
    "aten::addmm": [("ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn",
                     (24, 12, 1), (256, 1, 1), 128, 0, 2)],
    "aten::relu": [("void at::native::vectorized_elementwise_kernel<4, relu>(int)",
                    (1024, 1, 1), (128, 1, 1), 16, 0, 16)],
    "aten::sum": [("void at::native::reduce_kernel<512, 1>(float*)", (1, 64, 1), (32, 16, 1),
                   32, 16, 4)],
}


class Writer:
    """Events with growing ids; times in ns, written in the dialect's units."""

    def __init__(self, dialect):
        self.is_old = dialect == "old"
        self.random = random.Random(20261121)
        self.events = []
        self.external = 0
        self.correlation = 1000
        self.queue = {7: 0, 20: 0}
        self.allocated = 1 << 30

    def time(self, ns):
        return ns // 1000 if self.is_old else round(ns / 1000, 3)

    def span(self, cat, name, start, end, tid, **args):
        if self.is_old:
            start, end = start // 1000 * 1000, end // 1000 * 1000
            if "External id" in args and cat not in ("cpu_op", "user_annotation"):
                args["external id"] = args.pop("External id")
        on_device = cat in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")
        self.events.append({
            "ph": "X", "cat": OLD.get(cat, cat) if self.is_old else cat, "name": name,
            "pid": 0 if on_device else PID,
            "tid": ("stream %d" % tid if on_device else str(tid)) if self.is_old else tid,
            "ts": self.time(start), "dur": self.time(end) - self.time(start)
            if self.is_old else self.time(end - start), "args": args})

    def op(self, name, start, end, tid, cat="cpu_op", **args):
        self.external += 1
        self.span(cat, name, start, end, tid, **{"External id": self.external, **args})
        return self.external

    def call(self, name, start, end, tid, external):
        self.correlation += 1
        self.span("cuda_runtime", name, start, end, tid, **{
            "cbid": 211, "correlation": self.correlation, "External id": external})
        return self.correlation

    def kernel(self, what, ready, external, correlation, stream=7, **more):
        name, grid, block, registers, shared, resident = what
        start = max(ready, self.queue[stream]) + 1000
        end = start + self.random.randrange(8000, 60000)
        self.queue[stream] = end
        threads = block[0] * block[1] * block[2]
        per_sm = grid[0] * grid[1] * grid[2] / SMS
        self.span("kernel", name, start, end, stream, **{
            "External id": external, "queued": 0, "device": 0, "context": 1, "stream": stream,
            "correlation": correlation, "registers per thread": registers,
            "shared memory": shared, "blocks per SM": round(per_sm, 6),
            "warps per SM": round(per_sm * threads / 32, 6), "grid": grid, "block": block,
            "est. achieved occupancy %": round(min(per_sm, resident) * threads / 2048 * 100),
            **more})
        return end

    def copy(self, name, cat, size, ready, external, correlation, stream=7):
        start = max(ready, self.queue[stream]) + 500
        end = start + size // 12 + 1000
        self.queue[stream] = end
        self.span(cat, name, start, end, stream, **{
            "External id": external, "device": 0, "context": 1, "stream": stream,
            "correlation": correlation, "bytes": size,
            "memory bandwidth (GB/s)": round(size / (end - start), 6)})
        return end

    def memory(self, at, tid, size, address):
        self.allocated += size
        self.events.append({
            "ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": tid, "ts": self.time(at),
            "args": {"Device Type": 1, "Device Id": 0, "Addr": address, "Bytes": size,
                     "Total Allocated": self.allocated, "Total Reserved": 2 << 30}})


def step(writer, number, at):
    """One training step that begins at `at`; when it ends."""
    begin = at
    own = writer.op("ProfilerStep#%d" % number, begin, begin + 5000000, MAIN, "user_annotation")
    del own
    place = len(writer.events) - 1
    at += 5000
    writer.op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, at + 900000, MAIN)
    at += 950000
    external = writer.op("aten::copy_", at, at + 60000, MAIN)
    correlation = writer.call("cudaMemcpyAsync", at + 5000, at + 50000, MAIN, external)
    writer.copy("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy", 602112, at + 20000, external,
                correlation)
    correlation = writer.call("cudaStreamSynchronize", at + 52000, at + 58000, MAIN, external)
    if not writer.is_old:
        writer.span("cuda_sync", "Stream Sync", at + 52500, at + 57500, 7, **{
            "External id": external, "cuda_sync_kind": "Stream Sync", "stream": 7,
            "correlation": correlation, "device": 0, "context": 1})
    at += 80000
    sequence = number * 100
    forward = []
    for layer in range(6):
        for name, kernels in KERNELS.items():
            length = 30000 + writer.random.randrange(20000)
            sequence += 1
            outer = writer.op(name, at, at + length, MAIN, **{
                "Sequence number": sequence, "Fwd thread id": 0, "Input Dims": [[64, 512], [512]],
                "Input type": ["float", "float"]})
            inner = writer.op(name + "_impl", at + 2000, at + length - 3000, MAIN)
            del outer
            forward.append((name, sequence))
            writer.memory(at + 3000, MAIN, 131072, 0x7F0000000000 + sequence * 0x20000)
            for what in kernels:
                correlation = writer.call("cudaLaunchKernel", at + 6000, at + 14000, MAIN, inner)
                writer.kernel(what, at + 14000, inner, correlation)
            at += length + 1000
    if number == 3:
        external = writer.op("CUDAGraph.replay", at, at + 40000, MAIN)
        correlation = writer.call("cudaGraphLaunch", at + 3000, at + 30000, MAIN, external)
        for node in range(20):
            writer.kernel(KERNELS["aten::relu"][0], at + 20000, external, correlation,
                          **{"graph id": 3, "graph node id": 40 + node})
        at += 45000
    back = at + 4000
    for name, sequence in reversed(forward):
        length = 25000 + writer.random.randrange(15000)
        writer.op("autograd::engine::evaluate_function: %sBackward0" % name[6:].title(), back,
                  back + length, BACKWARD, **{"Sequence number": sequence, "Fwd thread id": 1})
        inner = writer.op("%sBackward0" % name[6:].title(), back + 2000, back + length - 2000,
                          BACKWARD, **{"Sequence number": sequence, "Fwd thread id": 1})
        correlation = writer.call("cudaLaunchKernel", back + 5000, back + 12000, BACKWARD, inner)
        writer.kernel(KERNELS[name][0], back + 12000, inner, correlation)
        writer.memory(back + length - 1000, BACKWARD, -131072,
                      0x7F0000000000 + sequence * 0x20000)
        back += length + 500
    writer.op("autograd::engine backward wait", at, back + 2000, MAIN)
    at = back + 4000
    external = writer.op("aten::to", at, at + 40000, MAIN)
    correlation = writer.call("cudaMemcpyAsync", at + 2000, at + 9000, MAIN, external)
    writer.copy("Memcpy DtoH (Device -> Pinned)", "gpu_memcpy", 65536, at + 9000, external,
                correlation, stream=20)
    recorded = writer.call("cudaEventRecord", at + 10000, at + 12000, MAIN, external)
    correlation = writer.call("cudaStreamWaitEvent", at + 13000, at + 15000, MAIN, external)
    if not writer.is_old:
        writer.span("cuda_sync", "Stream Wait Event", at + 13500, at + 14500, 7, **{
            "External id": external, "cuda_sync_kind": "Stream Wait Event", "wait_on_stream": 20,
            "wait_on_cuda_event_record_corr_id": recorded, "wait_on_cuda_event_id": 9,
            "stream": 7, "correlation": correlation, "device": 0, "context": 1})
    at += 42000
    external = writer.op("Optimizer.step#SGD.step", at, at + 90000, MAIN, "user_annotation")
    for _ in range(3):
        inner = writer.op("aten::_foreach_add_", at + 3000, at + 28000, MAIN)
        correlation = writer.call("cudaLaunchKernel", at + 8000, at + 15000, MAIN, inner)
        writer.kernel(KERNELS["aten::relu"][0], at + 15000, inner, correlation)
        at += 28000
    correlation = writer.call("cudaMemsetAsync", at + 1000, at + 4000, MAIN, external)
    writer.copy("Memset (Device)", "gpu_memset", 4096, at + 4000, external, correlation)
    at += 20000
    correlation = writer.call("cudaDeviceSynchronize", at, max(at, writer.queue[7]) + 3000, MAIN, 0)
    end = max(at, writer.queue[7]) + 10000
    raw = writer.events[place]
    raw["dur"] = writer.time(end) - writer.time(begin) if writer.is_old else \
        writer.time(end - begin)
    return end


def make(dialect):
    writer = Writer(dialect)
    zero = 1700000000000000000 if writer.is_old else 4458676000000000
    at = zero
    for number in range(1, 7):
        at = step(writer, number, at) + 30000
    # A kernel whose call was made before the recording began.
    writer.kernel(KERNELS["aten::sum"][0], at, 0, 7)
    writer.events.append({"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)",
                          "pid": "Spans", "tid": "PyTorch Profiler", "ts": writer.time(zero),
                          "dur": writer.time(at + 200000 - zero), "args": {"Op count": 0}})
    trace = {"schemaVersion": 1, "deviceProperties": [DEVICE]}
    if not writer.is_old:
        trace["cupti_version"] = 24
        trace["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 1}
    trace["traceEvents"] = writer.events
    return trace


def main():
    out, dialect = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "new"
    text = json.dumps(make(dialect), indent=0)
    if out.endswith(".gz"):
        with gzip.GzipFile(out, "wb", mtime=0) as file:
            file.write(text.encode())
    else:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
