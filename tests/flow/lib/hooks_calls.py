# SPDX-License-Identifier: Apache-2.0
"""hooks_calls.py - what a program's own threads do with descriptors, with and without us

usage: hooks_calls.py BARE OURS

The two are prefixes of what `strace -ff -o` wrote of tests/progs/stacks_harm calls. Between its two marks
the first thread must have made the very same calls on descriptors with the same results, but for the
numbers (another thread may be about to open something); its children, who close what is ours, must have
opened none.
"""

import glob
import re
import sys

BEGIN, END = "lseek(-1, 1000,", "lseek(-1, 2000,"
OPENS = """open openat openat2 creat pipe pipe2 dup dup2 dup3 socket socketpair accept accept4 eventfd
eventfd2 memfd_create memfd_secret epoll_create epoll_create1 timerfd_create signalfd signalfd4
inotify_init inotify_init1 perf_event_open userfaultfd pidfd_open bpf io_uring_setup fanotify_init""".split()
USES = """close close_range read write readv writev pread64 pwrite64 fcntl fsync fdatasync ftruncate
fallocate msync mincore poll ppoll select pselect6 epoll_wait epoll_pwait sendmsg recvmsg sendto recvfrom
fstat lseek ioctl flock""".split()


def read_calls(path):
    """[(name, line without pointers and descriptors)] of a thread"""
    calls = []
    for line in open(path, errors="replace"):
        found = re.match(r"(\w+)\((.*)", line)
        if found:
            line = re.sub(r"0x[0-9a-f]+", "AT", line.rstrip())
            if found[1] in OPENS:
                line = re.sub(r"= \d+$", "= FD", line)
            elif found[1] in USES and not line.startswith((BEGIN, END)):
                line = re.sub(r"\(\d+", "(FD", line)
            calls.append((found[1], line))
    return calls


def read_run(prefix):
    """Calls of the first thread between the marks, and those of its children"""
    for path in glob.glob(prefix + ".*"):
        calls = read_calls(path)
        begin = [i for i, (_, line) in enumerate(calls) if line.startswith(BEGIN)]
        end = [i for i, (_, line) in enumerate(calls) if line.startswith(END)]
        if begin and end:
            calls = calls[begin[0]:end[0]]
            break
    else:
        sys.exit(f"no thread of {prefix} made the marks")
    children = {}
    for name, line in calls:
        found = re.search(r"= (\d+)$", line)
        if name in ("clone", "clone3", "fork", "vfork") and found and "CLONE_THREAD" not in line:
            children[found[1]] = read_calls(f"{prefix}.{found[1]}")
    return calls, children


def main():
    bare, bare_children = read_run(sys.argv[1])
    ours, our_children = read_run(sys.argv[2])
    used = [[line for name, line in calls if name in OPENS + USES] for calls in (bare, ours)]
    print(f"{len(used[0])} calls on descriptors, {len(ours) - len(bare)} calls of other kinds more, "
          f"{len(our_children)} children")
    wrong = []
    for i in range(max(map(len, used))):
        pair = [calls[i] if i < len(calls) else "(nothing)" for calls in used]
        if pair[0] != pair[1]:
            wrong.append(f"call {i}: {pair[1]}, and without us {pair[0]}")
            break
    if not used[0] or not our_children or len(our_children) != len(bare_children):
        wrong.append(f"{len(used[0])} calls, {len(our_children)} children, {len(bare_children)} without us")
    wrong += [f"a child: {line}" for calls in our_children.values()
              for name, line in calls if name in OPENS]
    print(*wrong[:10], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
