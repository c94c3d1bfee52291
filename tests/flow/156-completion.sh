#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof completion: shells offer every option, format, view and word that the parts know.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export PYTHONDONTWRITEBYTECODE=1
trainprof=$TOP/scripts/trainprof
cmp -s "$LIB" "$("$trainprof" lib 2>/dev/null)" ||
	skip_all "the checkout's build is not the one that is tested"

ok "bash takes it" bash -c 'eval "$("$0" completion bash)"' "$trainprof"
eval "$("$trainprof" completion bash)"
# offers WORDS...: what is offered for the last of them.
offers()
{
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_trainprof
	printf '%s\n' "${COMPREPLY[@]}"
}

is "commands" "$(offers trainprof d)" doctor
missing=
for option in $("$MERGE" --help | sed -n 's/^  .\{4\}\(--[a-z-]*\).*/\1/p'); do
	offers trainprof merge -- | grep -qx -e "$option" || missing="$missing $option"
	offers trainprof-merge "$option" | grep -qx -e "$option" || missing="$missing merge:$option"
done
is "every option of the merge" "$missing" ""
ok "there are options of the merge" [ "$(offers trainprof merge -- | wc -l)" -gt 15 ]
is "formats" "$(offers trainprof-merge -f spee)" speedscope
is "formats, with their colon" "$(offers trainprof merge --format torch | tr '\n' ' ')" "torch torch:tb "
is "views, after a comma" "$(offers trainprof merge -v overview,mo)" overview,module
is "views, after =" "$(offers trainprof merge --view = hea)" health
is "words of RECORD" "$(offers trainprof run --record ops,pysta)" ops,pystacks
is "options of run" "$(offers trainprof run --sch)" --schedule
is "commands to run" "$(offers trainprof run -- gre | grep -x grep | head -n 1)" grep
touch aFileHere
is "files" "$(offers trainprof merge aFile)" aFileHere
for shell in zsh fish; do
	"$trainprof" completion $shell >script.$shell
	missing=
	for word in speedscope health pystacks by-shape no-merge dry-run python; do
		grep -q -e "$word" script.$shell || missing="$missing $word"
	done
	is "$shell: options, formats, views, words" "$missing" ""
	if command -v $shell >/dev/null; then
		ok "$shell takes it" $shell -n script.$shell
	else
		skip "$shell takes it" "no $shell here"
	fi
done
"$trainprof" completion tcsh >out 2>err
is "another shell: usage" "$? $(wc -l <err)" "2 1"
done_testing
