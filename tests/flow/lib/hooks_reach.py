# SPDX-License-Identifier: Apache-2.0
"""hooks_reach.py - which names of others the hooks of malloc, fork and dlclose can come to

usage: hooks_reach.py LIBRARY

By the library's own code: whom each function calls or jumps to, and whose address it takes. (What it calls by
a pointer it got from elsewhere is not seen: the real malloc, libunwind, which gets the functions below.)
Prints the ways to cancellation points and to functions that open descriptors; exit status 1: there are some.
"""

import collections
import re
import subprocess
import sys

MALLOC = """malloc calloc realloc reallocarray free free_sized free_aligned_sized posix_memalign
aligned_alloc memalign valloc pvalloc malloc_usable_size mmap mmap64 munmap mremap dlclose
dl_iterate_phdr""".split()
# What libunwind is given, what is called where it is called, and what a fork does about that.
UNWIND = """learn tour access_mem access_reg access_fpreg find_proc_info put_unwind_info
find_registered read_stack read_made_up close_gate open_gate open_gate_in_child""".split()
# preload/hook_proc.c; and what each part of us does in the child, which is called by tables.
FORK = "before_fork after_fork_in_parent after_fork_in_child".split()
# In these a thread cannot be cancelled, so there is no cancellation point: the child closes what it has of
# its parent's.
HOLD = "tp_cancel_hold"

CANCELS = """accept accept4 aio_suspend clock_nanosleep close close_range closefrom connect copy_file_range creat
fcntl fcntl64 fdatasync fsync getmsg getpmsg lockf lockf64 mq_receive mq_send msgrcv msgsnd msync nanosleep open
open64 openat openat64 pause poll ppoll pread pread64 preadv pselect pthread_cond_clockwait
pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel pthread_timedjoin_np putmsg pwrite
pwrite64 pwritev read readv recv recvfrom recvmmsg recvmsg select sem_clockwait sem_timedwait sem_wait send
sendfile sendmmsg sendmsg sendto sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice
sync_file_range system tcdrain tee usleep vmsplice wait wait3 wait4 waitid waitpid write writev
fclose fflush fgetc fgets fopen fopen64 fprintf fputc fputs fread freopen fwrite getc getline perror printf
puts vfprintf vprintf syslog""".split()
OPENS = """pipe pipe2 dup dup2 dup3 socket socketpair eventfd memfd_create epoll_create epoll_create1
timerfd_create signalfd inotify_init inotify_init1 perf_event_open shm_open mkstemp mkostemp opendir fdopendir
scandir ftw nftw glob popen tmpfile dlopen pthread_getattr_np getaddrinfo realpath""".split()


def read_code(library):
    """{function: those that it comes to}, and {name: the functions of it}: a name that several files have for
    functions of their own stands once for each, with its address"""
    own, comes_to, now = collections.defaultdict(list), collections.defaultdict(set), None
    symbols = {tuple(line.split()) for line in subprocess.run(
        ["nm", "--defined-only", library], check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()}
    many = collections.Counter(name for _, kind, name in symbols if kind in "tTwW")

    def tell(at, name):
        return f"{name} ({at:x})" if many[name] > 1 else name

    for at, kind, name in symbols:
        if kind in "tTwW":
            own[name].append(tell(int(at, 16), name))
    code = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", library], text=True,
                            stdout=subprocess.PIPE)
    for line in code.stdout:
        head = re.match(r"([0-9a-f]+) <(.+)>:$", line)
        to = re.search(r"\b([0-9a-f]+) <([^>+]+)(?:\+0x([0-9a-f]+))?>\s*$", line)
        if head:
            now = tell(int(head[1], 16), head[2])
        elif to and now and "\t" in line:
            name, does = to[2], line.split("\t")[1].split()[0]
            if does.startswith(("call", "j", "bnd")) or (does == "lea" and name in own and not to[3]):
                comes_to[now].add(tell(int(to[1], 16) - int(to[3] or "0", 16), name))
    return comes_to, own


def find_ways(comes_to, roots):
    """{name: who comes to it}, from the roots on"""
    by, to_do = dict.fromkeys(roots), list(roots)
    while to_do:
        now = to_do.pop()
        for name in sorted(comes_to[now]):
            if name not in by:
                by[name] = now
                to_do.append(name)
    return by


def main():
    comes_to, own = read_code(sys.argv[1])
    fork = [name for name in own if name in FORK or name.endswith("_forked") or name == "forked"]
    missing = [name for name in MALLOC + UNWIND + FORK if name not in own]
    if missing:
        print("not there any more:", *missing)
        return 1
    status, n = 0, 0
    for name in FORK:
        if not all(HOLD in comes_to[function] for function in own[name]):
            print(f"{name} does not call {HOLD}")
            status = 1
    for what, names, bad in (("malloc", MALLOC + UNWIND, set(CANCELS + OPENS)),
                             ("fork", fork, set(OPENS))):
        roots = [function for name in names for function in own[name]]
        by = find_ways(comes_to, roots)
        n += len(by)
        for name in by:
            if "@" in name and name.split("@")[0] in bad:
                way = [name]
                while by[way[-1]]:
                    way.append(by[way[-1]])
                print(f"a hook of {what}:", " < ".join(way))
                status = 1
    print(n, "functions")
    return status


if __name__ == "__main__":
    sys.exit(main())
