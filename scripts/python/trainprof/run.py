# SPDX-License-Identifier: Apache-2.0
"""trainprof run: a command under the profiler, and the overview when it has ended."""

import collections
import fcntl
import glob
import os
import re
import shlex
import sys

from . import job, options, paths
from .say import Refused, say

# variable: what the value is for; "": a switch.
Option = collections.namedtuple("Option", "name value variable help")
OPTIONS = [
    Option("schedule", "SCHEDULE", "SCHEDULE", "which steps are recorded, as wait=5,warmup=1,active=4"),
    Option("record", "WORD,..", "RECORD", "what is recorded, as ops,shapes,tensors"),
    Option("dir", "DIR", "DIR", "folder of the traces"),
    Option("no-merge", "", "", "only run the command: no merge, no overview at the end"),
    Option("dry-run", "", "", "print the line with LD_PRELOAD that does the same, and run nothing"),
]
USAGE = "trainprof run [OPTION].. [--] COMMAND [ARGUMENT].."
HELP = "runs COMMAND under the profiler, merges and prints the overview at its end"


def parse(arguments):
    """(settings, switches, command): {variable: value}, names of switches, words."""
    settings, switches = {}, set()
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "--":
        name, joined, value = arguments[at].partition("=")
        at += 1
        option = next((option for option in OPTIONS if "--" + option.name == name), None)
        if not option:
            raise Refused("run: unknown option '%s'; try 'trainprof run --help'" % name)
        if not option.value:
            if joined:
                raise Refused("run: option '%s' takes no value" % name)
            switches.add(option.name)
            continue
        if not joined and at < len(arguments):
            value = arguments[at]
            at += 1
        if not value or value == "--":
            raise Refused("run: option '%s' needs a value: %s" % (name, option.value))
        settings["TRAINPROF_" + option.variable] = value
    command = arguments[at + (arguments[at:at + 1] == ["--"]):]
    if not command:
        raise Refused("run: no command is given: %s" % USAGE)
    return settings, switches, command


def library():
    path = paths.find(paths.LIBRARY)
    if not path:
        raise Refused("%s is not found: run make, or make install" % paths.LIBRARY, 1)
    if re.search(r"[\s:]", path):
        raise Refused("'%s' cannot be preloaded: LD_PRELOAD takes no path with a blank or a colon" % path, 1)
    return path


def preload(path, before):
    """LD_PRELOAD with our library in front of what is there: an allocator behind it stays in use."""
    if path in re.split(r"[ :]", before):
        return before
    return "%s %s" % (path, before) if before else path


def environment():
    """The variables that we were started with: Python adds LC_CTYPE where the locale is C."""
    variables = dict(os.environ)
    try:
        with open("/proc/self/environ", "rb") as file:
            if not re.search(rb"(^|\0)LC_CTYPE=", file.read()):
                variables.pop("LC_CTYPE", None)
    except OSError:
        pass
    return variables


def shell_line(settings, command):
    """What a shell takes: the settings, then the command."""
    words = ["%s=%s" % (name, shlex.quote(value)) for name, value in settings.items()]
    # Not one more setting.
    words.append("'%s'" % command[0].replace("'", "'\"'\"'") if "=" in command[0] else shlex.quote(command[0]))
    return " ".join(words + [shlex.quote(word) for word in command[1:]])


def _of_config(path):
    """DIR of a file of settings, or None."""
    found = None
    try:
        with paths.open_file(path) as file:
            for line in file.read().decode("utf-8", "surrogateescape").splitlines():
                setting = re.match(r"\s*(?:TRAINPROF_)?DIR\s*=\s*(.*?)\s*$", line)
                if setting:
                    found = re.sub(r"^(['\"])(.*)\1$", r"\2", setting.group(1))
    except OSError:
        pass  # the library says so
    return found


def folders(variables):
    """Folders that the job's traces may go to; what the template has in braces may be anything."""
    name = variables.get("TRAINPROF_DIR") or _of_config(variables.get("TRAINPROF_CONFIG") or os.devnull) \
        or options.of_job()["DIR"].preset
    pattern = "*".join(glob.escape(part) for part in re.split(r"\{\w+\}", name.rstrip("/") or name))
    # Beside a folder that another run has used: NAME-2.
    return [path for path in sorted(set(glob.glob(pattern) + glob.glob(pattern + "-[0-9]*"))) if os.path.isdir(path)]


def contents(paths_):
    """{file: what changes when it is written} of these folders."""
    found = {}
    for top in paths_:
        for where, _, names in os.walk(top):
            for name in names:
                path = os.path.join(where, name)
                try:
                    about = os.stat(path)
                except OSError:
                    continue
                found[path] = (top, about.st_ino, about.st_size, about.st_mtime_ns)
    return found


def runs(files):
    """{ledger: its first line, which has the run's id} of these files."""
    found = {}
    for path in files:
        if not path.endswith(".steps"):
            continue
        try:
            with paths.open_file(path) as file:
                found[path] = file.readline(512)
        except OSError:
            continue
    return found


def _is_held(path):
    """Does a living process write this ledger?"""
    try:
        with paths.open_file(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _show(keeper, before, variables, is_shown):
    """Merges what is new; the overview goes to standard error, for standard output is the command's."""
    files, ledgers = before
    now = contents(folders(variables))
    # A run that was killed before may have been tidied up by this one: its folder is not this one's.
    new = [path for path, head in runs(now).items() if ledgers.get(path) != head] or \
        [path for path in now if files.get(path) != now[path] and not path.endswith(".ring")]
    tops = sorted({now[path][0] for path in new})
    if not tops:
        say("nothing was recorded: TRAINPROF_LOG=info says why; 'trainprof doctor' says what can be")
        return
    merge = ["trainprof", "merge"] + tops
    if any(_is_held(path) for path in now if path.endswith(".steps") and now[path][0] in tops):
        say("not merged, for other processes still record there; when they are done: %s" % shlex.join(merge))
        return
    status = keeper.run([options.merge_path(), "--no-pager"] + tops, variables,
                        lambda: os.dup2(2, 1) if is_shown else None)
    if status:
        say("the merge failed, see above; again: %s" % shlex.join(merge))


def main(arguments):
    settings, switches, command = parse(arguments)
    variables = environment()
    settings = dict(LD_PRELOAD=preload(library(), variables.get("LD_PRELOAD", "")), **settings)
    if "dry-run" in switches:
        print(shell_line(settings, command))
        return 0
    job_variables = dict(variables, **settings)
    if "no-merge" in switches:
        job.become(command, job_variables)
    options.merge_path()
    files = contents(folders(job_variables))
    before = files, runs(files)
    is_shown = sys.stderr is not None
    keeper = job.Keeper()
    status = keeper.run(command, job_variables)
    is_run = not os.WIFEXITED(status) or os.WEXITSTATUS(status) not in (job.CANNOT_RUN, job.CANNOT_FIND)
    try:
        variables.update((name, value) for name, value in job_variables.items() if name != "LD_PRELOAD")
        if is_run:
            _show(keeper, before, variables, is_shown)
    except Exception as error:  # whatever it is, the status is the command's
        say("the overview failed: %s" % error)
    keeper.end_as(status)
