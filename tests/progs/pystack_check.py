# SPDX-License-Identifier: Apache-2.0
"""pystack_check.py LIBRARY - are the Python stacks that are read those that there are?

Calls the reader from many kinds of Python frames and compares each frame with sys._getframe's:
function, file, line, and how many of them C has called with how often the interpreter's own
function stands on the stack of C. Prints one line.
"""
import asyncio
import ctypes
import gc
import os
import signal
import sys
import tempfile
import threading

held = ctypes.PyDLL(sys.argv[1])
free = ctypes.CDLL(sys.argv[1])
held.init.restype = held.report.restype = ctypes.c_char_p
held.n_walks.restype = ctypes.c_uint64
held.outer.argtypes = [ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32),
                       ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_char_p),
                       ctypes.POINTER(ctypes.c_uint32)]
PYTHON, ENTRY, CUT = 1, 4, 16
MOST_FRAMES = 2048

right, wrong = [], []  # append is atomic in every version


def unfold(stack):
    """[(function, file, line, flags)], innermost first"""
    frames = []
    flags, line = ctypes.c_uint32(), ctypes.c_uint64()
    text, n = ctypes.c_char_p(), ctypes.c_uint32()
    while stack:
        stack = held.outer(stack, ctypes.byref(flags), ctypes.byref(line), ctypes.byref(text),
                           ctypes.byref(n))
        both = ctypes.string_at(text, n.value).decode()
        frames.append(tuple(both.split("\0")) + (line.value, flags.value))
    return frames


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def expected(frame, line):
    """The same by sys._getframe; the innermost is at `line`."""
    frames = []
    while frame:
        frames.append((name_of(frame.f_code), frame.f_code.co_filename, line))
        frame = frame.f_back
        line = frame.f_lineno or 0 if frame else 0
    return frames


def compare(what, stack, frame, line, n_evaluations):
    got, wanted = unfold(stack), expected(frame, line)
    problems = []
    if [f[:3] for f in got] != wanted:
        problems.append("%d frames, %d wanted" % (len(got), len(wanted)))
        problems += [("got %s wanted %s" % pair)[:300] for pair in zip(got, wanted)
                     if pair[0][:3] != pair[1]][:3]
    if any(not f[3] & PYTHON or f[3] & ~(PYTHON | ENTRY) for f in got):
        problems.append("flags %s" % [f[3] for f in got])
    n_entries = sum(bool(f[3] & ENTRY) for f in got)
    if n_evaluations >= 0 and n_entries != n_evaluations:
        problems.append("%d called from C, %d evaluations" % (n_entries, n_evaluations))
    if problems:
        wrong.append(what)
        print(what + ":", "; ".join(problems))
    else:
        right.append(what)
    return got


def check(what="plain", count=True):
    n = held.n_evaluations() if count else -1
    stack, line = free.take(), sys._getframe().f_lineno
    compare(what, stack, sys._getframe(), line, n)
    n = held.n_evaluations() if count else -1
    stack, line = held.take(), sys._getframe().f_lineno
    return compare(what + ", again", stack, sys._getframe(), line, n)


def expect(what, condition):
    (right if condition else wrong).append(what)
    if not condition:
        print("not so:", what)


def recursion(n, then):
    return then() if n == 0 else recursion(n - 1, then)


class Callable:
    def __call__(self, then):
        return then()

    def __getattr__(self, name):
        check("__getattr__")
        return name

    @property
    def value(self):
        return check("property")

    def __lt__(self, other):
        check("__lt__")
        return True


class Made:
    def __init__(self, then=None):
        if then:
            then()


def make_many():
    # Often enough for the interpreter to call __init__ by a frame of its own.
    for i in range(100):
        Made((lambda: check("__init__")) if i % 10 == 9 else None)


def generator(n):
    for i in range(n):
        check("generator")
        yield i
    yield from (check("inner generator") and j for j in range(2))


async def coroutine(depth):
    if depth:
        await coroutine(depth - 1)
    await asyncio.sleep(0)
    check("coroutine")


async def many_coroutines():
    await asyncio.gather(*(coroutine(i) for i in range(4)))
    async for _ in async_generator():
        check("async for")


async def async_generator():
    for i in range(3):
        check("async generator")
        yield i


def callbacks(depth):
    """C calls Python, which calls C, which calls Python."""
    prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    pointers = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    libc = ctypes.CDLL(None)

    def called(a, b):
        if depth:
            callbacks(depth - 1)
        frames = check("called back by C")
        entry = [f for f in frames if f[0].endswith("called")]
        expect("a function that C calls is marked", all(f[3] & ENTRY for f in entry))
        return 0

    pair = (ctypes.c_int * 2)(2, 1)
    libc.qsort(pair, 2, 4, pointers(called))
    return prototype


def lines():
    """Many lines of one frame; what is outside of it stays."""
    check("line one"); check("same line")
    check(
        "a call over lines"
    )
    for what in ("loop 1", "loop 2"):
        check(what)
    try:
        raise KeyError("x")
    except KeyError:
        check("handler")
    finally:
        check("finally")
    with tempfile.TemporaryFile():
        check("with")


def executed():
    """Code whose objects come and go: addresses are used again, also those of their names."""
    for i in range(200):
        name = "made_%d" % (i % 7)
        text = "\n" * (i % 5) + "def %s(then):\n    return then()\n%s(then)\n" % (name, name)
        exec(compile(text, "file %d" % i, "exec"), {"then": lambda: check("exec")})
    for i in range(200):
        exec(compile("then()", "longer than its hash %03d, and it ends alike" % i, "exec"),
             {"then": lambda: check("exec, alike")})


def odd_names():
    """Each width of characters, in functions and files."""
    for name, file in (("caf\u00e9", "d\u00e9j\u00e0.py"), ("\u0416", "\u20ac.py"),
                       ("f", "\U0001f600.py"), ("x" * 900, "y" * 2900)):
        space = {"then": check}
        exec(compile("def %s():\n    then('%s')\n%s()" % (name, file[:9], name), file, "exec"), space)
    space = {}
    exec(compile("def f(then):\n    return then()", "lone \udc80.py", "exec"), space)
    stack = space["f"](held.take)
    expect("no character", unfold(stack)[0][1] == "lone \ufffd.py")
    exec(compile("def f(then):\n    return then()", "\u20ac" * 1001, "exec"), space)
    stack = space["f"](held.take)
    expect("a long name is cut after a character", unfold(stack)[0][1] == "\u20ac" * 1000)


def deep():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(6000)
    try:
        for n in (1500, 1501, 2100, 2101, 2101, 1000):
            frames = unfold(recursion(n, held.take))
            is_cut = n > MOST_FRAMES
            expect("depth %d" % n, len(frames) == MOST_FRAMES if is_cut else len(frames) > n)
            expect("what is cut is said", bool(frames[-1][3] & CUT) == is_cut)
            expect("nothing else is", not any(f[3] & CUT for f in frames[:-1]))
            check("after it")
    finally:
        sys.setrecursionlimit(limit)


def known_frames():
    """What did not change makes no new numbers."""
    def take_twice():
        first = [held.take() for _ in range(3)]
        return first, held.n_made()
    before = held.n_made()
    numbers, after = recursion(20, take_twice)
    expect("equal stacks have equal numbers", len(set(numbers)) == 1 and after > before)

    def in_a_loop():
        made = []
        for _ in range(5):
            recursion(3, held.take)
            made.append(held.n_made())
        return made
    made = recursion(30, in_a_loop)
    # Four frames come and go; those outside of them are not looked up again.
    expect("only what changed is numbered", all(b - a <= 8 for a, b in zip(made[1:], made[2:])))


def windows():
    recursion(10, lambda: check("before a window"))
    held.begin_window()
    recursion(10, lambda: check("in another window"))


class Dying:
    def __del__(self):
        check("__del__")


def finalizers():
    Dying()
    a = Dying()
    a.self = a
    del a
    gc.collect()


def handlers():
    signal.signal(signal.SIGUSR1, lambda *unused: check("handler of a signal"))
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGUSR1)
        recursion(3, lambda: None)


def in_threads(work):
    for _ in range(2):  # those of the second round take over what the dead had
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def switch_stacks():
    """Frames that are taken away and brought back, as gevent does."""
    try:
        import greenlet
    except ImportError:
        return "no greenlet"

    def play(n):
        for _ in range(4):
            # The stack of C goes on below, Python's does not.
            recursion(n, lambda: check("greenlet", count=False))
            recursion(n, lambda: switch((n + 1) % 3))
            check("greenlet, back", count=False)

    def switch(n):
        if others[n].dead:
            return
        if others[n]:
            others[n].switch()
        else:
            others[n].switch(n)
    others = [greenlet.greenlet(play) for _ in range(3)]
    for n in range(3):
        recursion(5, lambda: switch(n))
        check("after greenlets")
    return "greenlet"


def traced():
    """While another tool is told of calls and lines: its own functions, and those it is told of."""
    def tracer(frame, event, argument):
        if frame.f_code.co_name == "traced_here" and event == "call":
            check("a tracer")
        return tracer

    def traced_here():
        check("traced")
        recursion(3, lambda: check("traced, deeper"))

    for set_tracer in (sys.settrace, sys.setprofile):
        set_tracer(tracer)
        try:
            traced_here()
        finally:
            set_tracer(None)
    monitoring = getattr(sys, "monitoring", None)
    if monitoring:
        events = monitoring.events
        monitoring.use_tool_id(4, "pystack_check")
        monitoring.register_callback(4, events.PY_START, lambda code, at: None)
        monitoring.register_callback(4, events.LINE, lambda code, line: None)
        monitoring.set_events(4, events.PY_START | events.LINE)
        try:
            traced_here()
            # Its instructions are other ones now, and again later.
            recursion(5, lambda: (monitoring.set_events(4, 0), check("monitored no more")))
        finally:
            monitoring.free_tool_id(4)
    traced_here()


def subinterpreter():
    """What stands on the stack there is not asserted, but that nothing breaks."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            interpreters = __import__(name)
        except ImportError:
            continue
        text = "import ctypes\nctypes.CDLL(%r).take()\nctypes.PyDLL(%r).take()" % (
            (sys.argv[1],) * 2)
        other = interpreters.create()
        try:
            interpreters.run_string(other, text)
        except Exception:
            pass  # one that may not import ctypes
        recursion(4, lambda: check("beside a subinterpreter"))
        interpreters.destroy(other)
        check("after a subinterpreter")
        return


def fork():
    """In a child that has only this thread."""
    child = os.fork()
    if child == 0:
        n = len(wrong)
        recursion(5, lambda: check("child"))
        os._exit(len(wrong) != n)
    expect("child of fork", os.waitpid(child, 0)[1] == 0)


def work():
    check()
    recursion(12, check)
    (lambda: check("lambda"))()
    [check("list") for _ in range(2)]
    list(map(lambda _: check("map"), range(2)))
    {check and 1: check("dict") for _ in range(2)}
    any(check("genexpr") is None for _ in range(2))
    Callable()(lambda: check("__call__"))
    Callable().anything
    Callable().value
    sorted([Callable(), Callable()])
    make_many()
    list(generator(3))
    for _ in generator(2):
        check("between yields")
    lines()
    executed()
    callbacks(2)
    windows()


def interrupted():
    """A signal in C may come at any point of the interpreter's own code."""
    held.walk_often()
    while held.n_walks() < 4000:
        list(generator_of_nothing(30))
        recursion(40, lambda: [Made() for _ in range(20)])
        exec(compile("def f(): return [x for x in range(20)]\nf()", "f", "exec"), {})
    free.walk_no_more()


def generator_of_nothing(n):
    if n:
        yield n
        yield from generator_of_nothing(n - 1)


def start(how):
    # As in the audit hook: the lock held, some frames below.
    return held.init().decode()


def main():
    why = recursion(3, lambda: start("x"))
    if why:
        print("%d.%d: %s" % (sys.version_info[:2] + (why,)))
        return
    work()
    asyncio.run(many_coroutines())
    odd_names()
    deep()
    known_frames()
    finalizers()
    handlers()
    in_threads(work)
    traced()
    subinterpreter()
    fork()
    interrupted()
    work()
    greenlets = switch_stacks()
    print("%d.%d: %d right, %d wrong, %s" % (
        sys.version_info[:2] + (len(right), len(wrong), greenlets)))
    print(held.report().decode().replace("\n", " "), file=sys.stderr)


main()
