# SPDX-License-Identifier: Apache-2.0
"""kineto_read.py - the events of a Kineto trace (torch.profiler's JSON), whatever its age

Kineto's categories, keys and units changed over the years: Operator and cpu_op, external id
and External id, whole microseconds and fractions, threads as text and as numbers. Here they
are one form, with exact integer nanoseconds. Read by the converter and by the comparisons.
"""
import gzip
import json
import re
import shutil
import subprocess
from decimal import Decimal

KIND = {
    "operator": "range", "cpu_op": "range", "user_annotation": "range", "python_function": "range",
    "runtime": "api", "cuda_runtime": "api", "driver": "api", "cuda_driver": "api",
    "kernel": "kernel", "memcpy": "memcpy", "gpu_memcpy": "memcpy",
    "memset": "memset", "gpu_memset": "memset", "cuda_sync": "sync", "overhead": "overhead",
}
# HTA cannot read stream 0 (AMD's first), so trainprof-merge writes this for it.
STREAM_0 = 999999
DEVICE_KINDS = ("kernel", "memcpy", "memset", "sync")


# Calls that libtrainprof.so does not ask CUPTI for: short, many, and no work of a device hangs on
# them (runtime/probe/gpu/cupti_kinds.c).
NOT_RECORDED = re.compile(
    r"cuda(Get(Device|LastError|DriverEntryPoint)|PeekAtLastError|SetDevice$|EventQuery|StreamQuery|"
    r"EventCreate|EventDestroy|DriverGetVersion|RuntimeGetVersion|PointerGetAttributes|"
    r"StreamGet(Priority|Flags|CaptureInfo)|StreamIsCapturing|DeviceGet(Attribute|StreamPriority)|"
    r"Occupancy|Func[GS]etAttribute|ThreadExchangeStreamCaptureMode)")


class Event:
    """One event: kind (as in a replay file), name, start and end in ns, args, pid and tid."""

    __slots__ = ("kind", "cat", "name", "start", "end", "pid", "tid", "args", "at")

    def __init__(self, kind, raw, at):
        self.kind = kind
        self.cat = raw.get("cat") or ""
        self.name = str(raw["name"])
        self.start = to_ns(raw["ts"])
        self.end = self.start + to_ns(raw.get("dur") or 0)
        self.pid = raw.get("pid")
        self.tid = raw.get("tid")
        self.args = raw.get("args") or {}
        self.at = at

    def external(self):
        return self.args.get("External id", self.args.get("external id"))

    def correlation(self):
        return whole(self.args.get("correlation"), 0)

    def device(self):
        return whole(self.args.get("device"), whole(self.pid, 0))

    def stream(self):
        stream = whole(self.args.get("stream"), None)
        if stream is None:
            stream = whole(re.sub(r"\D", "", str(self.tid)), 0)
        if stream == STREAM_0:
            return 0
        return -1 if stream in (-1, 0xFFFFFFFF) else stream


def to_ns(microseconds):
    return int((Decimal(microseconds) * 1000).to_integral_value())


def whole(value, otherwise):
    """An integer of a JSON number or text; `otherwise` where it is none."""
    if isinstance(value, bool) or value is None:
        return otherwise
    if isinstance(value, str):
        try:
            return int(value, 0)
        except ValueError:
            return otherwise
    return int(value)


def load(path):
    """The whole file, numbers exact. HTA's samples hold a few bytes that are not UTF-8."""
    with open(path, "rb") as file:
        packed = file.read()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    trace = json.loads(text.decode("utf-8", "replace"), parse_float=Decimal, strict=False)
    return {"traceEvents": trace} if isinstance(trace, list) else trace


def events_of(trace):
    """(events, memory, others): spans that we know, [memory] instants, counts of the rest."""
    events, memory, others = [], [], {}
    for at, raw in enumerate(trace.get("traceEvents", ())):
        phase, cat = raw.get("ph"), raw.get("cat") or ""
        kind = KIND.get(cat.lower())
        if phase == "X" and kind and raw.get("dur") is not None:
            events.append(Event(kind, raw, at))
        elif phase == "i" and raw.get("name") == "[memory]":
            memory.append(Event("mem", raw, at))
        elif phase != "M":
            what = cat or (str(raw.get("name")) if phase == "i" else str(phase))
            others[what] = others.get(what, 0) + 1
    return events, memory, others


def thread_of(event):
    """What names a host thread: process and thread, as numbers where they are."""
    return whole(event.pid, event.pid), whole(event.tid, event.tid)


# As much of a name as our traces keep, less some: readable forms are longer than mangled ones.
NAME_KEPT = 4000


def canonical_names(raw_events):
    """Kernels' names of two writers made comparable: readable (Kineto leaves the long ones as the
    compiler made them), and as long as our traces keep."""
    kernels = [raw for raw in raw_events if (raw.get("cat") or "").lower() == "kernel"]
    mangled = sorted({raw["name"] for raw in kernels if raw["name"].startswith("_Z")})
    readable = {}
    if mangled and shutil.which("c++filt"):
        said = subprocess.run(["c++filt", "--no-recurse-limit"], input="\n".join(mangled),
                              text=True, check=True, stdout=subprocess.PIPE).stdout
        readable = dict(zip(mangled, said.split("\n")))
    for raw in kernels:
        raw["name"] = readable.get(raw["name"], raw["name"])[:NAME_KEPT]
