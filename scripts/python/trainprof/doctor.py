# SPDX-License-Identifier: Apache-2.0
"""trainprof doctor: what would be recorded here, what not, and why. A line for each finding."""

import json
import os
import platform
import re
import shutil
import subprocess

from . import options, paths, run
from .run import Option
from .say import Refused

OPTIONS = [Option("python", "PROGRAM", "", "the Python of the training (default: python, else python3)")]
USAGE = "trainprof doctor [--python PROGRAM]"
HELP = "says what would be recorded here, what not, and why"

OK, NO, UNKNOWN = "ok", "no", "unknown"
_SECONDS = 60

# What runs in the training's Python: looks for packages, imports none of them.
_LOOK = r"""
import glob, importlib.util, json, os, platform, sys
found = {"python": platform.python_version(), "implementation": platform.python_implementation()}
spec = importlib.util.find_spec("torch")
if spec and spec.origin:
    folder = os.path.dirname(spec.origin)
    try:
        exec(open(os.path.join(folder, "version.py")).read(), {}, found)
    except OSError:
        pass
    site = os.path.dirname(folder)
    for name, library in ("cupti", "libcupti.so"), ("nccl", "libnccl.so"):
        places = [site + "/nvidia/*/lib/", folder + "/lib/", "/usr/local/cuda/extras/CUPTI/lib64/",
                  "/usr/local/cuda/lib64/"] + [f + "/" for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f]
        found[name] = next((p for place in places for p in sorted(glob.glob(place + library + "*"))), None)
found["loaded"] = "libtrainprof.so" in open("/proc/self/maps").read()
try:
    import ctypes
    ctypes.CDLL("libunwind-x86_64.so.8")
    found["unwinds"] = True
except (ImportError, OSError):
    found["unwinds"] = False
print(json.dumps({k: v for k, v in found.items() if isinstance(v, (str, bool))}))
"""
_VERSION = "import ctypes, sys; v = ctypes.c_int(); f = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2]); " \
    "print(f(ctypes.byref(v)) or v.value)"


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return None


def _run(command, **settings):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=_SECONDS,
                          universal_newlines=True, env=dict(os.environ, **settings))


def _size(n):
    return "%.1f GiB" % (n / 2**30) if n >= 2**30 else "%d MiB" % (n >> 20)


def look(python, library):
    """What the training's Python has, with the library preloaded; raises Refused."""
    try:
        done = _run([python, "-c", _LOOK], LD_PRELOAD=library, TRAINPROF_SCHEDULE="off")
        return json.loads(done.stdout), done.stderr.strip()
    except OSError as error:
        raise Refused("doctor: '%s' cannot be run: %s" % (python, error.strerror), 1)
    except (ValueError, subprocess.SubprocessError):
        raise Refused("doctor: '%s' does not answer as a Python" % python, 1)


def parts(found, said):
    yield (OK, "library", "is loaded by LD_PRELOAD") if found["loaded"] else \
        (NO, "library", "is not loaded: %s" % (said.splitlines() or ["a static or set-user-ID python?"])[0])
    merge = paths.find(paths.MERGE)
    yield (OK, "merge", merge) if merge else (NO, "merge", "trainprof-merge is not found: run make")


def python(found):
    version = "%s %s" % (found["implementation"], found["python"])
    yield (OK, "python", version) if found["implementation"] == "CPython" else \
        (NO, "python", "%s: no Python stacks; use CPython" % version)
    torch = found.get("__version__")
    yield (OK, "torch", torch) if torch else \
        (NO, "torch", "this Python has none: give the training's with --python, or no step is found")


def native_stacks(found):
    """libunwind, which the library looks for by the same name; Python stacks need none."""
    if platform.machine() != "x86_64":
        yield NO, "native stacks", "on x86-64 only"
    elif found["unwinds"]:
        yield OK, "native stacks", "libunwind-x86_64.so.8 is found"
    else:
        yield NO, "native stacks", "libunwind-x86_64.so.8 is not found (Debian has it in libunwind8)"


def _library_version(program, path, function):
    try:
        return int(_run([program, "-c", _VERSION, path, function]).stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def gpu(found, program):
    """GPUs, CUPTI and NCCL: without a GPU none of them is needed."""
    if not any(name.startswith("nvidia") for name in os.listdir("/dev")):
        yield NO, "gpu", "/dev has no nvidia device: operators and host are recorded, no kernels"
    elif not os.access("/dev/nvidiactl", os.R_OK | os.W_OK):
        yield NO, "gpu", "/dev/nvidiactl cannot be opened by this user: no kernels are recorded"
    else:
        yield OK, "gpu", "/dev/nvidiactl can be opened"
    for name, title, function, least in (("cupti", "CUPTI", "cuptiGetVersion", None),
                                         ("nccl", "NCCL", "ncclGetVersion", 22300)):
        path = found.get(name)
        if not path:
            yield UNKNOWN, title, "not found beside torch or CUDA: %s" % (
                "without one no kernels are recorded; TRAINPROF_CUPTI_LIB names it" if name == "cupti" else
                "torch may have its own; collectives of torch are recorded anyway")
            continue
        version = _library_version(program, path, function)
        if not version:
            yield UNKNOWN, title, "%s: its version cannot be read (does it need the driver?)" % path
        elif least and version < least:
            yield NO, title, "%s, version %d: collectives are seen from 2.23 on" % (path, version)
        else:
            yield OK, title, "%s, version %d" % (path, version)


def _bytes(text):
    """Of a size as 32M."""
    return int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0)


def memory():
    """Where the ring goes, and what the job may use."""
    try:
        ring = _bytes(os.environ.get("TRAINPROF_BUFFER") or options.of_job()["BUFFER"].preset)
    except ValueError:
        ring = 0  # the library says so
    try:
        about = os.statvfs("/dev/shm")
        free = about.f_bavail * about.f_frsize
        is_writable = os.access("/dev/shm", os.W_OK)
        noexec = ", noexec (not needed)" if about.f_flag & os.ST_NOEXEC else ""
        trouble = ": not writable, the ring goes to TRAINPROF_DIR" if not is_writable else \
            ": too little for a rank's ring of %s, which is smaller then or goes to TRAINPROF_DIR; in a " \
            "container see --shm-size" % _size(ring) if free < ring else ""
        yield (NO if not is_writable else UNKNOWN if trouble else OK), "/dev/shm", "%s free%s%s" % (
            _size(free), noexec, trouble)
    except OSError as error:
        yield NO, "/dev/shm", "%s: the ring goes to TRAINPROF_DIR" % error.strerror
    limit = _read("/sys/fs/cgroup/memory.max") or _read("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    is_limited = bool(limit and limit.isdigit() and int(limit) < 1 << 60)
    yield (OK if limit else UNKNOWN), "memory limit", _size(int(limit)) if is_limited else limit and "none" or \
        "no cgroup is seen"
    yield OK, "cores", str(len(os.sched_getaffinity(0)))


def folder():
    """Can the traces be written?"""
    name = os.environ.get("TRAINPROF_DIR") or options.of_job()["DIR"].preset
    top = re.split(r"\{", name)[0] or "."
    while not os.path.exists(top):
        top = os.path.dirname(top) or "."
    if not os.access(top, os.W_OK | os.X_OK):
        yield NO, "folder", "'%s' cannot be written: set TRAINPROF_DIR" % top
    elif os.path.isdir(name) and any(file.endswith(".tpt") for file in os.listdir(name)):
        yield UNKNOWN, "folder", "'%s' has traces: another run goes to '%s-2', or replaces them with " \
            "TRAINPROF_OVERWRITE=1" % (name, name.rstrip("/"))
    else:
        yield OK, "folder", "'%s' can be written" % name


def kernel():
    """Settings of the kernel; none of them stops the recording."""
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    yield (OK if source == "tsc" else UNKNOWN), "clock", "clocksource %s%s" % (
        source or "not known", "" if source == "tsc" else ": a time may cost a system call")
    scope = _read("/proc/sys/kernel/yama/ptrace_scope")
    yield OK, "ptrace", "scope %s (not needed: a process reads only itself)" % (scope or "none")
    perf = _read("/proc/sys/kernel/perf_event_paranoid")
    yield OK, "perf", "perf_event_paranoid %s (not needed)" % (perf or "not known")


def _program(arguments):
    chosen = None
    if arguments:
        name, joined, value = arguments[0].partition("=")
        if name != "--python":
            raise Refused("doctor: unknown option '%s'; try 'trainprof doctor --help'" % arguments[0])
        chosen = value if joined else (arguments[1:2] or [""])[0]
        if not chosen or len(arguments) > (1 if joined else 2):
            raise Refused("doctor: %s" % USAGE)
    return chosen or shutil.which("python") or shutil.which("python3") or "python3"


def main(arguments):
    program = _program(arguments)
    found, said = look(program, run.library())
    findings = [*parts(found, said), *python(found), *native_stacks(found), *gpu(found, program), *memory(), *folder(), *kernel()]
    print("%s, %s %s" % (program, platform.system(), platform.release()))
    for state, name, text in findings:
        print("%-8s%-15s%s" % (state, name, text))
    needed = [name for state, name, _ in findings if state == NO and name in ("library", "merge", "torch", "folder")]
    print("recording works here" if not needed else "recording does not work here: see %s" % ", ".join(needed))
    return 1 if needed else 0
