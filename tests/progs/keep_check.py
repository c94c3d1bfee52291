# SPDX-License-Identifier: Apache-2.0
"""keep_check.py LIBRARY - are a program's containers found by name, and does none of its code run for it?

Prints one line: Python's version, how many checks were right, and "nothing ran".
"""
import abc
import collections
import ctypes
import enum
import functools
import gc
import queue
import sys
import types
import weakref

held = ctypes.PyDLL(sys.argv[1])
held.keep_local.argtypes = [ctypes.py_object] * 3
held.keep_init.restype = held.keep_walk.restype = ctypes.c_char_p
VERSION = "%d.%d" % sys.version_info[:2]
LIST, DICT, SET, DEQUE, CACHE = 2, 3, 4, 5, 7
called = []


class Loud:
    """Says when anything of it is asked for."""
    items = [1, 2]

    def __init__(self):
        self.seen = set(range(7))

    def __getattribute__(self, name):
        called.append(("attribute", name))
        return object.__getattribute__(self, name)

    def __getattr__(self, name):
        called.append(("missing", name))
        raise AttributeError(name)

    def __len__(self):
        called.append("length")
        return 1

    def __iter__(self):
        called.append("iteration")
        return iter(())

    def __bool__(self):
        called.append("truth")
        return True

    def __eq__(self, other):
        called.append("equality")
        return False

    def __hash__(self):
        called.append("hash")
        return 1

    @property
    def asked(self):
        called.append("property")
        return []


class LoudDict(dict):
    def __len__(self):
        called.append("length of a dict")
        return 0

    def __iter__(self):
        called.append("iteration of a dict")
        return iter(())

    def __getitem__(self, key):
        called.append("item of a dict")
        raise KeyError(key)


class Meta(type):
    def __getattribute__(cls, name):
        called.append(("of a class", name))
        return type.__getattribute__(cls, name)


class OfMeta(metaclass=Meta):
    table = {}


class Slotted:
    __slots__ = ("rows",)

    def __init__(self):
        self.rows = [0]


class Lies:
    @property
    def __dict__(self):
        called.append("__dict__")
        return {}


class Abstract(abc.ABC):
    entries = []


class Colour(enum.Enum):
    RED = 1


class Callback:
    """One of the program's own, which only a library has."""

    def __init__(self):
        self.kept = [1, 2, 3]
        self.by_key = {"rows": [1]}


library = types.ModuleType("trainer")
library.__file__ = "/x/site-packages/trainer/__init__.py"
sys.modules["trainer"] = library
exec(compile("""
class Base:
    def __init__(self):
        self.its_own = [1, 2]

class Trainer(Base):
    def __init__(self, callbacks):
        super().__init__()
        self.handler = Base()
        self.handler.callbacks = callbacks
        self.logs = [1] * 9

    def fit(self):
        pass
""", library.__file__, "exec"), vars(library))


class Cached:
    store = {n: "x" * 1000 for n in range(5)}

    def __init__(self):
        self.items = collections.OrderedDict(a=1)
        self.counts = collections.Counter("aab")
        self.deep = {"of": {"which": [[], [1, 2, 3]]}}


@functools.lru_cache(maxsize=None)
def squares(n):
    return n * n


def outer():
    rows = [1]

    def inner(extra=[1, 2, 3, 4], *, more={}):
        rows.append(1)

    inner.calls = [1, 2]
    return inner


for number in range(9):
    squares(number)
history = list(range(11))
window = collections.deque([1, 2, 3])
by_name = collections.defaultdict(list, a=[1], b=[1, 2])
cached = Cached()
put = outer()
pending = queue.Queue()
pending.put(1)
loud, loud_dict, slotted, lies = Loud(), LoudDict(a=[1] * 6), Slotted(), Lies()
proxy, reference = weakref.proxy(cached), weakref.ref(cached)
ring = []
ring.append(ring)
tower = [1]
for _ in range(5000):
    tower = [tower]
wide = [[n] for n in range(100000)]
odd = {Loud(): [1], 3: [1, 2], ("a",): [1, 2, 3], "\ud800": [4], None: {}}
lazy = types.ModuleType("lazy")
lazy.__getattr__ = lambda name: called.append("module") or []
sys.modules["lazy"] = lazy
sys.modules["nothing"] = None
sys.modules["instance"] = loud
WANTED = {
    "history": (LIST, 11), "window": (DEQUE, 3), "by_name": (DICT, 2), "by_name['b']": (LIST, 2),
    "Cached.store": (DICT, 5), "cached.items": (DICT, 1), "cached.counts": (DICT, 2),
    "cached.deep['of']['which'][1]": (LIST, 3), "squares": (CACHE, 9), "put's rows": (LIST, 1), "put[0]": (LIST, 4),
    "put['more']": (DICT, 0), "put['calls']": (LIST, 2), "pending.queue": (DEQUE, 1), "loud.seen": (SET, 7),
    "Loud.items": (LIST, 2), "loud_dict": (DICT, 1), "loud_dict['a']": (LIST, 6), "ring": (LIST, 1),
    "wide": (LIST, 100000), "odd": (DICT, 5), "Abstract.entries": (LIST, 0), "Callback.kept": (LIST, 3),
    "Callback.by_key['rows']": (LIST, 1),
}


def read():
    """What is told of this file, by name, and what of libraries."""
    text = held.keep_walk()
    found, others = {}, []
    for line in (text or b"").decode("utf-8", "replace").splitlines():
        kind, size, n_bytes, rest = line.split(" ", 3)
        file, _, name = rest.partition(": ")
        if file == __file__:
            found[name] = (int(kind), int(size), int(n_bytes))
        elif "/site-packages/" in file:
            others.append(name)
    return found, others


def trace(frame, event, what):
    called.append((event, frame.f_code.co_name))


def main():
    why = held.keep_init()
    if why:
        print(VERSION + ": " + why.decode())
        return
    trainer = library.Trainer([Callback(), Loud(), Slotted()])
    name = "self"
    held.keep_local(library.Trainer.fit.__code__, name, trainer)
    held.keep_walk()
    called.clear()
    watched = [history, cached, loud, odd, wide, Cached.store, put]
    counts = [sys.getrefcount(one) for one in watched]
    gc.collect()
    text = held.keep_walk
    sys.setprofile(trace)
    text()
    sys.setprofile(None)
    # Calls of C functions are what it does.
    ran = [one for one in called if not (isinstance(one, tuple) and one[0].startswith("c_"))]
    wrong = ["ran: %s" % (one,) for one in ran]
    found, others = read()
    wrong += ["%s: %s, not %s" % (name, found.get(name), what) for name, what in WANTED.items()
              if found.get(name, (0, 0, 0))[:2] != what]
    wrong += ["%s is a library's" % name for name in others]
    wrong += ["%s: its class has a program of its own" % name for name in found if "OfMeta" in name]
    if [sys.getrefcount(one) for one in watched] != counts:
        wrong.append("references stay")
    if not gc.isenabled():
        wrong.append("garbage is not collected any more")
    if not 1000 < found["Cached.store"][2] < 2000:
        wrong.append("an item of Cached.store takes %d bytes" % found["Cached.store"][2])
    for line in wrong:
        print("not so:", line)
    print("%s: %d found, %d wrong" % (VERSION, len(found), len(wrong)))


main()
