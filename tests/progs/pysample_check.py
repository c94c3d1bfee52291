# SPDX-License-Identifier: Apache-2.0
"""pysample_check.py LIBRARY [LOOKS] - are the stacks of other threads, read from outside, those there are?

Threads that stand still are compared with sys._current_frames(): functions, files, lines, what they
wait in, who has the interpreter's lock, whether it collects garbage. Then LOOKS looks are taken while threads
come and go, import, raise, recurse and make code: each name of a look that was not discarded is a function of
the file that it names. Prints one line.
"""
import ast
import ctypes
import gc
import importlib
import os
import re
import sys
import threading
import time

free = ctypes.CDLL(sys.argv[1])
held = ctypes.PyDLL(sys.argv[1])
LOOKS = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
held.sample_init.restype = ctypes.c_char_p
free.sample_many.argtypes = [ctypes.c_uint64, ctypes.c_double, ctypes.c_uint32]
free.sample_many.restype = free.sample_count.restype = ctypes.c_uint64
held.text.restype = ctypes.c_uint32
wrong = []
n_right = 0
NOT_KNOWN = -1
stopping = threading.Event()


def expect(what, condition, *said):
    global n_right
    if condition:
        n_right += 1
    else:
        wrong.append(what)
        print("not so:", what, *said)


def read_text(string):
    text, n = ctypes.c_char_p(), ctypes.c_uint32()
    if not held.text(string, ctypes.byref(text), ctypes.byref(n)):
        return None
    return tuple(ctypes.string_at(text, n.value).decode().split("\0"))


def read_frames(at):
    n, line = free.sample_look(at), ctypes.c_uint32()
    frames = []
    for i in range(n):
        string = free.sample_frame(i, ctypes.byref(line))
        if string:
            frames.append(read_text(string) + (line.value,))
    return n, frames


def read_round():
    """{tid: (waits in, has the lock, wants it, frames)}"""
    waits, has, wants = ctypes.c_int32(), ctypes.c_uint32(), ctypes.c_uint32()
    found = {}
    for at in range(free.sample_threads()):
        tid = free.sample_tid(at, ctypes.byref(waits), ctypes.byref(has), ctypes.byref(wants))
        found[tid] = (waits.value, has.value, wants.value) + read_frames(at)
    return found


def expected(frame):
    frames = []
    while frame:
        name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
        frames.append((name, frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return frames


def recurse(n, then):
    return then() if n == 0 else recurse(n - 1, then)


def in_sleep(ready):
    recurse(20, lambda: (ready.set(), time.sleep(1000)))


def in_queue(ready):
    wait = threading.Event().wait

    class Étage:
        def __init__(self):
            ready.set()
            wait(1000)

    Étage()


def in_generator(ready):
    def numbers():
        yield 1
        ready.set()
        time.sleep(1000)

    list(numbers())


def check_still():
    stands = []
    for function in in_sleep, in_queue, in_generator:
        ready = threading.Event()
        thread = threading.Thread(target=function, args=(ready,), daemon=True)
        thread.start()
        ready.wait()
        stands.append(thread)
    time.sleep(0.2)
    for _ in range(2):  # the second time they are known
        found = read_round()
        frames = sys._current_frames()
        for thread in stands:
            name = thread._target.__name__
            got = found.get(thread.native_id)
            expect(name + " is found", got)
            if not got:
                continue
            expect(name + " stands where it does", got[4] == expected(frames[thread.ident]), got[4])
            expect(name + " waits", got[0] > 0 and not got[1] and not got[2], got[:3])


def spin(running):
    running.set()
    while not stopping.is_set():
        pass


def check_lock():
    """Of two threads that run Python one has the lock at a time, and the other wants it."""
    running = [threading.Event() for _ in range(2)]
    threads = [threading.Thread(target=spin, args=(event,)) for event in running]
    for thread, event in zip(threads, running):
        thread.start()
        event.wait()
    has = wants = both = n = 0
    known = [0, 0]
    end = time.monotonic() + 30
    held.sample_ask(threads[0].native_id)
    while time.monotonic() < end and not (has >= 10 and wants and n >= 100):
        free.sample_many(1, 1, 3000)
        found = [locks(thread.native_id) for thread in threads]
        has += any(f[0] for f in found)
        wants += any(f[1] for f in found)
        both += all(f[0] for f in found)
        known = [so_far + f[2] for so_far, f in zip(known, found)]
        n += 1
    stopping.set()
    held.sample_ask(0)
    for thread in threads:
        thread.join()
    expect("one has the lock, another wants it", has >= 10 and wants and not both, has, wants, both)
    expect("what it waits for is known each time of who is asked", known[0] >= n * 0.95, *known, n)


def locks(tid):
    waits, has, wants = ctypes.c_int32(), ctypes.c_uint32(), ctypes.c_uint32()
    at = 0
    # The last round's: the one that asks holds the lock only now.
    while at < held.sample_n():
        if held.sample_tid(at, ctypes.byref(waits), ctypes.byref(has), ctypes.byref(wants)) == tid:
            return has.value, wants.value, waits.value != NOT_KNOWN
        at += 1
    return 0, 0, False


def collect(until):
    while not until.is_set():
        gc.collect()


def check_garbage():
    """Collections are those of gc.get_stats(); one is seen while it runs, and none where none does."""
    figures = (ctypes.c_uint64 * 3)()
    gc.disable()
    for generation in 0, 1, 2:
        gc.collect(generation)
        expect("no collection", held.sample_gc(figures) == 0)
        expect("as many collections", list(figures) == [g["collections"] for g in gc.get_stats()], *figures)
    expect("none is seen", free.sample_gc_often(20) == 0)
    until = threading.Event()
    cache = [[i] for i in range(300000)]
    thread = threading.Thread(target=collect, args=(until,))
    thread.start()
    n_seen = free.sample_gc_often(200)
    until.set()
    thread.join()
    expect("those that run are seen", cache and n_seen > 100, n_seen)
    gc.enable()


def fall(depth):
    if depth == 0:
        raise ValueError("here")
    fall(depth - 1)


def short_life(number):
    made = {}
    exec("def made_%d(x):\n    return [x + %d for x in range(9)]\n" % (number % 40, number), made)
    made["made_%d" % (number % 40)](1)
    try:
        fall(number * 7 % 120)
    except ValueError:
        pass
    for name in "colorsys", "sndhdr", "quopri", "this_is_none":
        sys.modules.pop(name, None)
        try:
            importlib.import_module(name)
        except (ImportError, KeyError):  # another thread took it out
            pass
    ast.parse("a = [i * 2 for i in range(10)]")


def come_and_go(number):
    while not stopping.is_set():
        threads = [threading.Thread(target=short_life, args=(number + i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        number += 2


def names_of(code, found):
    found.add(getattr(code, "co_qualname", code.co_name))
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            names_of(constant, found)
    return found


def is_function(name, file, known={}):
    if file.startswith("<frozen "):
        return re.fullmatch(r"[\w.<>]+", name)
    if file == "<string>":
        return name == "<module>" or re.fullmatch(r"made_\d+(\.<locals>\.)?(<listcomp>)?|<listcomp>", name)
    if file not in known:
        known[file] = set()
        if os.path.isfile(file):
            with open(file, "rb") as source:
                known[file] = names_of(compile(source.read(), file, "exec"), set())
    # What a class of dataclasses or named tuples makes has a text of its own.
    return name in known[file]


def check_moving():
    stopping.clear()
    threads = [threading.Thread(target=come_and_go, args=(i * 1000,)) for i in range(6)]
    for thread in threads:
        thread.start()
    before = [free.sample_count(i) for i in range(5)]
    free.sample_many(LOOKS, 400, 300)
    stopping.set()
    for thread in threads:
        thread.join()
    looks, discarded, rounds, broken, kept = (free.sample_count(i) - before[i] for i in range(5))
    string, n_told = 1, 0
    while read_text(string):
        if free.sample_is_told(string):
            expect("a function of its file", is_function(*read_text(string)), read_text(string))
            n_told += 1
        string += 1
    expect("many names", n_told > 30, n_told)
    return looks, kept, discarded, rounds, broken


def main():
    why = held.sample_init().decode()
    version = "%d.%d" % sys.version_info[:2]
    if why:
        print("%s: %s" % (version, why))
        return
    check_still()
    check_lock()
    check_garbage()
    looks, kept, discarded, rounds, broken = check_moving()
    print("%s: %d right, %d wrong; of %d looks and %d of threads that had not run %d were discarded, %d of "
          "%d lists of threads were broken" % (version, n_right, len(wrong), looks, kept, discarded, broken,
                                               rounds), flush=True)
    os._exit(0)  # threads sleep


main()
