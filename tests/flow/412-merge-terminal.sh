#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the text of views goes: a terminal has colours, its width and a pager; a pipe has whole names;
# a reader that goes away is no error.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
unset COLUMNS NO_COLOR PAGER LESS
"$PYTHON" "$TOP/tests/flow/lib/kineto_synth.py" run.json.gz new
view=(-q -v operator --top 0 run.json.gz)

# on ROWS COLUMNS [VARIABLE=VALUE...] ARGUMENTS...: trainprof-merge on such a terminal; $shown, $status
on()
{
	local size=("$1" "$2")
	shift 2
	local -a settings=(TERM=xterm)
	while [[ ${1:-} =~ ^[A-Z_]+= ]]; do
		settings+=("$1")
		shift
	done
	shown=$(env "${settings[@]}" "$PYTHON" "$TOP/tests/flow/lib/on_terminal.py" "${size[@]}" "$MERGE" "$@")
	status=$?
}

# widest TEXT: columns of its longest line; a word alone in its line stays whole, so that it can be copied
widest()
{
	printf '%s\n' "$1" | grep -v '^ *[^ ]*$' | sed $'s/\033\\[[0-9;]*m//g' | LC_ALL=C.UTF-8 wc -L
}

# ---- a terminal ----
on 1000 60 "${view[@]}"
is "a terminal: exit status" "$status" 0
like "a terminal: colours" "$shown" $'\033'
ok "a terminal: its width" test "$(widest "$shown")" -le 60
on 1000 60 COLUMNS=44 "${view[@]}"
ok "COLUMNS goes before the terminal's width" test "$(widest "$shown")" -le 44
on 1000 60 TERM=dumb "${view[@]}"
unlike "a dumb terminal: no colours" "$shown" $'\033'
on 1000 60 NO_COLOR=1 "${view[@]}"
unlike "NO_COLOR: no colours" "$shown" $'\033'

# ---- the pager ----
on 12 60 PAGER='sed s/^/paged:/' "${view[@]}"
is "longer than the screen: exit status" "$status" 0
is "longer than the screen: all of it in the pager" "$(printf '%s\n' "$shown" | grep -vc '^paged:')" 0
on 1000 60 PAGER='sed s/^/paged:/' "${view[@]}"
unlike "it fits: no pager" "$shown" '^paged:'
n_lines=$(printf '%s\n' "$shown" | wc -l)
for why in --no-pager PAGER= PAGER=cat TERM=dumb PAGER=/nowhere/pager; do
	if [ "$why" = --no-pager ]; then
		on 12 60 PAGER='sed s/^/paged:/' --no-pager "${view[@]}"
	elif [ "$why" = TERM=dumb ]; then
		on 12 60 PAGER='sed s/^/paged:/' TERM=dumb "${view[@]}"
	else
		on 12 60 "$why" "${view[@]}" 2>/dev/null
	fi
	is "$why: all of it, no pager" "$(printf '%s\n' "$shown" | grep -vc '^paged:')" "$n_lines"
done
on 12 60 PAGER='head -n 1' "${view[@]}"
is "a pager that is left early: no error" "$status $(printf '%s\n' "$shown" | wc -l)" "0 1"

# ---- no terminal ----
fuse wide "${view[@]}"
name=$("$MERGE" -q -f jsonl "${view[@]}" | "$PYTHON" -c '
import json, sys
print(max((json.loads(line)["operator"] for line in sys.stdin), key=len))')
ok "a long name is there to be looked for" test "${#name}" -gt 32
ok "a pipe: names are whole" grep -qF -- "$name" wide.out
unlike "a pipe: nothing is cut" "$(cat wide.out)" '…'
unlike "a pipe: no colours" "$(cat wide.out)" $'\033'
few=$(COLUMNS=60 "$MERGE" "${view[@]}")
ok "a pipe: COLUMNS chooses the columns" test "$(sed -n 3p <<<"$few" | wc -w)" -lt "$(sed -n 3p wide.out | wc -w)"
ok "a pipe: with COLUMNS names are whole, too" grep -qF -- "$name" <<<"$few"
for text in "${view[*]}" --help --help-columns; do
	# shellcheck disable=SC2086 # words are wanted
	{ "$MERGE" $text 2>gone.err; echo $? >gone.status; } | { exec <&-; }
	is "$text: a reader that goes away is no error" "$(cat gone.status gone.err)" 0
done
done_testing
