# SPDX-License-Identifier: Apache-2.0
#
# frameworks.py - ranges around what training frameworks call for their users: run once, inside
# a training that asked for RECORD=frameworks, by frameworks.c
#
# Given: begin(name), end(), modules (sys.modules). Left behind: said, lines "framework: why it is
# left alone". A framework is changed as a whole or not at all; one that is not loaded is passed over.

def around(inner, name):
    """inner, inside of a range. Who looks at it sees inner."""
    def call(*args, **kwargs):
        begin(name)
        try:
            return inner(*args, **kwargs)
        finally:
            end()
    return like(call, inner)


def like(call, inner):
    for attribute in ("__module__", "__name__", "__qualname__", "__doc__", "__dict__"):
        value = getattr(inner, attribute, None)
        if attribute == "__dict__":
            call.__dict__.update(value or {})
        elif value is not None:
            setattr(call, attribute, value)
    call.__wrapped__ = inner
    return call


def takes(function, *names):
    """Its first parameters are called so: it is the function that is meant."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if function.__code__.co_varnames[: len(names)] != names:
        raise TypeError(function.__qualname__ + " takes other arguments than expected")


watched = set()


def watch(objects, base, method, name):
    """Ranges around the method of these objects' classes, where it is not base's own."""
    for class_ in {type(each) for each in objects}:
        if (class_, method) in watched:
            continue
        watched.add((class_, method))
        for owner in class_.__mro__:
            if owner is base:
                break
            inner = owner.__dict__.get(method)
            if inner is not None:
                if type(inner) is type(watch) and (owner, method) not in changed:
                    changed.add((owner, method))
                    setattr(owner, method, around(inner, name(owner.__name__, method)))
                break


changed = set()


class Inside:
    """A context manager inside of a range."""

    def __init__(self, name, inner):
        self.name, self.inner = name, inner

    def __enter__(self):
        begin(self.name)
        try:
            return self.inner.__enter__()
        except BaseException:
            end()
            raise

    def __exit__(self, *error):
        try:
            return self.inner.__exit__(*error)
        finally:
            end()


def lightning(module):
    profiler = module.Profiler
    inner = profiler.profile
    takes(inner, "self", "action_name")

    def profile(self, action_name):
        return Inside(str(action_name), inner(self, action_name))

    return [(profiler, "profile", like(profile, inner))]


def transformers(module):
    handler, base = module.CallbackHandler, module.TrainerCallback
    inner = handler.call_event
    takes(inner, "self", "event", "args", "state", "control")

    def call_event(self, event, *args, **kwargs):
        watch(self.callbacks, base, event, "[Callback]{}.{}".format)
        begin("[Trainer]" + event)
        try:
            return inner(self, event, *args, **kwargs)
        finally:
            end()

    return [(handler, "call_event", like(call_event, inner))]


class Pairs:
    """Ranges from one call to another: of each thread the names of those that are open."""

    def __init__(self):
        self.local = modules["threading"].local()

    def open(self):
        return self.local.__dict__.setdefault("names", [])

    def back_to(self, n):
        while len(self.open()) > n:
            self.open().pop()
            end()

    def begin(self, name):
        self.end(name)
        self.open().append(name)
        begin(name)

    def end(self, name):
        """Those inside of it end, too: an error has passed over their ends."""
        if name in self.open():
            self.back_to(self.open().index(name))


def composer(module):
    engine, base = module.Engine, modules["composer.core.callback"].Callback
    run_event, run_algorithms = engine.run_event, engine._run_algorithms
    mark_event = engine.run_marker_only_event
    events, pairs = module.Event, Pairs()
    takes(run_event, "self", "event")
    takes(mark_event, "self", "event")
    takes(run_algorithms, "self", "event")
    takes(base.run_event, "self", "event", "state", "logger")
    events.canonical_name, events.is_before_event, events.is_after_event

    def around_handlers(self, event, name):
        watch(self.state.callbacks, base, name, "callback/{}/{}".format)
        n_open = len(pairs.open())
        begin("event/" + name)
        try:
            return run_event(self, event)
        finally:
            pairs.back_to(n_open)
            end()

    def paired(event, run):
        """The event as Composer's own profiler has it: from its handlers' end to its counterpart."""
        event = events(event)
        name = "event/" + event.canonical_name
        if event.is_after_event:
            pairs.end(name)
        result = run()
        if event.is_before_event:
            pairs.begin(name)
        return result

    def event_of(self, event):
        name = str(getattr(event, "value", event))
        return paired(event, lambda: around_handlers(self, event, name))

    def mark_of(self, event):
        return paired(event, lambda: mark_event(self, event))

    def algorithms_of(self, event):
        watch(self.state.algorithms, object, "apply", "algorithm/{}".format)
        return run_algorithms(self, event)

    return [(engine, "run_event", like(event_of, run_event)),
            (engine, "run_marker_only_event", like(mark_of, mark_event)),
            (engine, "_run_algorithms", like(algorithms_of, run_algorithms))]


said = []
for name, adapt in (("lightning.pytorch.profilers.profiler", lightning),
                    ("pytorch_lightning.profilers.profiler", lightning),
                    ("transformers.trainer_callback", transformers),
                    ("composer.core.engine", composer)):
    if modules.get(name) is None:
        continue
    try:
        for target, attribute, value in adapt(modules[name]):
            setattr(target, attribute, value)
    except Exception as error:
        said.append(name.split(".")[0] + ": " + str(error))
said = "\n".join(said)
