# SPDX-License-Identifier: Apache-2.0
"""trainprof completion: what shells offer after trainprof and trainprof-merge, made of their own tables."""

import collections
import shlex

from . import options
from .say import Refused

USAGE = "trainprof completion bash|zsh|fish"
HELP = "prints completions for a shell: eval \"$(trainprof completion bash)\""

# words: [(word, help)] that the value is made of, with commas between them; names: "--top", "-v".
Choice = collections.namedtuple("Choice", "names value words help")


def _of_merge():
    table, formats, views = options.of_merge()
    words = {"format": formats, "view": views}
    for option in table:
        names = ["--" + option.name] + (["-" + option.letter] if option.letter else [])
        yield Choice(names, option.value, words.get(option.name, []), option.help)


def _of_command(command):
    variables = options.of_job()
    for option in command.options:
        words = variables[option.variable].words if option.variable else []
        yield Choice(["--" + option.name], option.value, [(word, "") for word in words], option.help)
    yield Choice(["--help"], None, [], "its options")


def choices(commands):
    """{command: [choices]}"""
    return {command.name: list(_of_merge() if command.name == "merge" else _of_command(command))
            for command in commands}


def _bash(commands, table):
    values, names = [], []
    for command, its in table.items():
        for choice in its:
            if choice.value:
                pattern = "|".join('"%s %s"' % (command, name) for name in choice.names)
                values.append("\t%s) words=%s value=1 ;;" % (
                    pattern, shlex.quote(" ".join(word for word, _ in choice.words))))
        names.append("\t%s) words=%s ;;" % (command, shlex.quote(" ".join(n for c in its for n in c.names))))
    return _BASH % {"commands": " ".join(commands), "values": "\n".join(values), "names": "\n".join(names)}


_BASH = r"""_trainprof()
{
	local at=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} prev colon=
	# torch:tb is three words of readline, which replaces the last one.
	if [ "$cur" = : ] && [ "$at" -gt 1 ]; then
		at=$((at - 1)) colon=${COMP_WORDS[COMP_CWORD - 1]}: cur=$colon
	elif [ "$at" -gt 2 ] && [ "${COMP_WORDS[at - 1]}" = : ]; then
		at=$((at - 2)) colon=${COMP_WORDS[COMP_CWORD - 2]}: cur=$colon$cur
	fi
	prev=${COMP_WORDS[at - 1]}
	_trainprof_offer
	COMPREPLY=("${COMPREPLY[@]#"$colon"}")
}
_trainprof_offer()
{
	local command=merge words= value=
	if [ "${COMP_WORDS[0]##*/}" = trainprof ]; then
		if [ "$COMP_CWORD" = 1 ]; then
			COMPREPLY=($(compgen -W '%(commands)s' -- "$cur"))
			return
		fi
		command=${COMP_WORDS[1]}
	fi
	# --name=value is three words of readline.
	if [ "$cur" = = ]; then
		cur=
	elif [ "$prev" = = ] && [ "$at" -gt 2 ]; then
		prev=${COMP_WORDS[at - 2]}
	fi
	case "$command $prev" in
%(values)s
	esac
	if [ -n "$words" ]; then
		local before=
		case $cur in *,*) before=${cur%%,*}, ;; esac
		COMPREPLY=($(compgen -P "$before" -W "$words" -- "${cur##*,}"))
		return
	fi
	[ -z "$value" ] || { COMPREPLY=($(compgen -f -- "$cur")); return; }
	case $cur in
	-*)
		case $command in
%(names)s
		esac
		COMPREPLY=($(compgen -W "$words" -- "$cur"))
		;;
	*)
		[ "$command" != completion ] || COMPREPLY=($(compgen -W 'bash zsh fish' -- "$cur"))
		[ "$command" != run ] || COMPREPLY=($(compgen -c -- "$cur"))
		[ ${#COMPREPLY[@]} != 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
		;;
	esac
}
complete -o filenames -F _trainprof trainprof trainprof-merge"""


def _zsh_spec(choice):
    """The words of _arguments for an option: what it takes stands behind its help."""
    text = "".join("\\" + c if c in "[]:\\" else c for c in choice.help)
    action = ""
    if choice.value:
        said = " ".join(shlex.quote(word.replace(":", "\\:")) for word, _ in choice.words)
        action = ":%s:%s" % (choice.value, "_sequence compadd - %s" % said if choice.words else "_files")
    for name in choice.names:
        joined = "=" if choice.value and name.startswith("--") else ""
        yield shlex.quote("%s%s[%s]%s" % (name, joined, text, action))


def _zsh(commands, table):
    cases = []
    for command, its in table.items():
        # Behind the command's name, and behind --, there are no options of ours.
        ends = "-S -A '-*' " if command == "run" else ""
        rest = {"run": "'(-)1:command:_command_names -e' '*::argument:_normal'", "completion": "'1:shell:(bash zsh fish)'"}.get(command, "'*:file:_files'")
        cases.append("\t%s) _arguments %s%s ;;" % (command, ends, " ".join([s for c in its for s in _zsh_spec(c)] + [rest])))
    named = " ".join(shlex.quote("%s:%s" % (name, text.replace(":", "\\:"))) for name, text in commands.items())
    return _ZSH % {"commands": named, "cases": "\n".join(cases)}


_ZSH = r"""#compdef trainprof trainprof-merge
_trainprof()
{
	local command=merge
	local -a known=(%(commands)s)
	if [[ $service == trainprof ]]; then
		if (( CURRENT == 2 )); then
			_describe command known
			return
		fi
		command=$words[2]
		shift words
		(( CURRENT-- ))
	fi
	case $command in
%(cases)s
	esac
}
compdef _trainprof trainprof trainprof-merge"""


def _quote_fish(text):
    return "'%s'" % text.replace("\\", "\\\\").replace("'", "\\'")


def _fish_line(command, choice):
    for program, condition in (("trainprof", " -n '__fish_seen_subcommand_from %s'" % command),
                               ("trainprof-merge", "")):
        if program == "trainprof-merge" and command != "merge":
            continue
        line = "complete -c %s%s" % (program, condition)
        for name in choice.names:
            line += " -l " + name[2:] if name.startswith("--") else " -s " + name[1:]
        if choice.value:
            line += " -r"
        if choice.words:
            line += " -f -a \"(__fish_append , %s)\"" % " ".join(word for word, _ in choice.words)
        yield line + " -d " + _quote_fish(choice.help)


def _fish(commands, table):
    lines = ["complete -c trainprof -f -n __fish_use_subcommand -a %s -d %s" % (name, _quote_fish(text))
             for name, text in commands.items()]
    lines += [line for command, its in table.items() for choice in its for line in _fish_line(command, choice)]
    lines += ["complete -c trainprof -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'",
              "complete -c trainprof -x -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand --fcs-skip=2)'"]
    return "\n".join(lines)


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def script(arguments, commands):
    if len(arguments) != 1 or arguments[0] not in _SHELLS:
        raise Refused("completion: which shell? %s" % USAGE)
    return _SHELLS[arguments[0]]({command.name: command.help for command in commands}, choices(commands))
