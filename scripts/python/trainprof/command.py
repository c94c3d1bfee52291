# SPDX-License-Identifier: Apache-2.0
"""The command trainprof: its commands, and what each of them is for."""

import collections
import os
import sys

from . import completion, doctor, options, run
from .say import Refused, say

Command = collections.namedtuple("Command", "name usage help options main")


def merge(arguments):
    path = options.merge_path()
    try:
        os.execv(path, [path] + arguments)
    except OSError as error:
        raise Refused("cannot run '%s': %s" % (path, error.strerror), 1)


def ctl(arguments):
    merge(["--ctl"] + arguments)


def live(arguments):
    merge(["--live"] + arguments)


def lib(arguments):
    if arguments:
        raise Refused("lib: takes no arguments")
    print(run.library())


def complete(arguments):
    print(completion.script(arguments, COMMANDS))


COMMANDS = [
    Command("run", run.USAGE, run.HELP, run.OPTIONS, run.main),
    Command("merge", "trainprof merge [OPTION].. PATH..", "trainprof-merge: fuses traces, says where the time went",
            [], merge),
    Command("ctl", "trainprof ctl RUN window=N|stop|status", "asks the running job of a run folder for a window",
            [], ctl),
    Command("live", "trainprof live [OPTION].. RUN", "what a running job does now, rank by rank", [], live),
    Command("doctor", doctor.USAGE, doctor.HELP, doctor.OPTIONS, doctor.main),
    Command("lib", "trainprof lib", "prints the library's path: LD_PRELOAD=$(trainprof lib) python train.py", [],
            lib),
    Command("completion", completion.USAGE, completion.HELP, [], complete),
]


def show_help():
    print("usage: trainprof COMMAND [ARGUMENT]..\n\nProfiles unmodified PyTorch training jobs.\n")
    for command in COMMANDS:
        print("  %-12s%s" % (command.name, command.help))
    print("\n'trainprof COMMAND --help' has the options of each; man 1 trainprof the rest.")


def show_command(command):
    print("usage: %s\n\n%s\n" % (command.usage, command.help[0].upper() + command.help[1:]))
    for option in command.options:
        print("  %-24s%s" % (("--%s %s" % (option.name, option.value)).rstrip(), option.help))


def dispatch(arguments):
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        show_help()
        return 0 if arguments else 2
    if arguments[0] == "--version":
        return merge(["--version"])
    command = next((command for command in COMMANDS if command.name == arguments[0]), None)
    if not command:
        raise Refused("unknown command '%s': commands are %s"
                      % (arguments[0], ", ".join(command.name for command in COMMANDS)))
    # The merge has a help of its own.
    if arguments[1:2] in (["-h"], ["--help"]) and command.main not in (merge, ctl, live):
        show_command(command)
        return 0
    return command.main(arguments[1:])


def merge_main():
    """trainprof-merge of a wheel, which has no other command of this name."""
    return main(["merge"])


def main(before=()):
    try:
        status = dispatch([*before, *sys.argv[1:]]) or 0
        if sys.stdout:
            sys.stdout.flush()
        return status
    except Refused as refused:
        say(refused)
        return refused.status
    except BrokenPipeError:
        os._exit(1)
