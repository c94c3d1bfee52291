# SPDX-License-Identifier: Apache-2.0
"""What the parts print of their options: --help and --help-env of trainprof-merge, as tables."""

import collections
import re
import subprocess

from . import paths
from .say import Refused

Option = collections.namedtuple("Option", "letter name value help")
Word = collections.namedtuple("Word", "name help")
Variable = collections.namedtuple("Variable", "name preset words")

_OPTION = re.compile(r"  (?:-(\w), |    )--([a-z-]+)(?: (\S+))? +(.*)")
_WORD = re.compile(r"  ([a-z]\S*) {2,}(.*)")


def merge_path():
    path = paths.find(paths.MERGE)
    if not path:
        raise Refused("%s is not found: run make, or make install" % paths.MERGE, 1)
    return path


def _read(option):
    try:
        return subprocess.run([merge_path(), option], stdout=subprocess.PIPE, check=True,
                              universal_newlines=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Refused("%s %s: %s" % (paths.MERGE, option, error), 1)


def of_merge():
    """(options, formats, views) of trainprof-merge."""
    options, lists, into = [], {"formats": [], "views": []}, None
    for line in _read("--help").splitlines():
        title = line.split(" ")[0]
        if title:
            into = lists.get(title)
            continue
        option, word = _OPTION.match(line), _WORD.match(line)
        if option:
            letter, name, value, text = option.groups()
            options.append(Option(letter, name, value, text))
        elif word and into is not None:
            into.append(Word(*word.groups()))
    return options, lists["formats"], lists["views"]


def of_job():
    """{NAME: variable} of the TRAINPROF_ variables; words: those that a value is made of, if any."""
    variables = {}
    for part in _read("--help-env").split("\n\n"):
        line = re.match(r"TRAINPROF_(\w+)=?(.*)\n", part)
        if not line:
            continue
        accepted = re.search(r"Accepted: (?:words of )?(.*?)(?: with commas| \(|; default)",
                             " ".join(part.split()))
        words = re.split(r", | or ", accepted.group(1)) if accepted else []
        if not all(re.fullmatch(r"[a-z_0-9]+", word) for word in words):
            words = []
        variables[line.group(1)] = Variable(line.group(1), line.group(2), words)
    return variables
