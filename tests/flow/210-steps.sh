#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Training loops of many shapes: the step ledger has as many steps and epochs as the loop has,
# each with its batches, and says by what they were found.

. "$(dirname "$0")/lib/lib.sh"
need_torch

# What the ledger of $TMP/$1 says: steps of each epoch, batches of the steps, sources.
count_steps()
{
	awk '/^s/ {
		e = 0; b = 1; c = 1
		for (i = 2; i <= NF; i++) {
			k = substr($i, 1, 1)
			if (k == "e") e = substr($i, 2)
			if (k == "b") b = substr($i, 2)
			if (k == "c") c = substr($i, 2)
		}
		steps[e]++
		if (!seen_b[b]++) batches = batches (batches == "" ? "" : ",") b
		if (!seen_c[c]++) sources = sources (sources == "" ? "" : ",") c
		if (e > last) last = e
	}
	END {
		for (e = 0; e <= last; e++) printf "%s%d", e ? "," : "", steps[e]
		printf " batches %s source %s\n", batches, sources
	}' "$TMP/$1"/*.steps
}

# steps CASE WANTED
steps()
{
	train "$1" "$PYTHON" "$PROGS/loops.py" "$1"
	is "$1: exit status" "$status" 0
	is "$1: steps of each epoch" "$(count_steps "$1")" "$2"
}

steps plain       '6,6 batches 1 source 1'
steps iterable    '6,6 batches 1 source 1'
steps persistent  '6,6,6 batches 1 source 1'
steps same_address '6,6 batches 1 source 1'
steps sanity      '6,6 batches 1 source 1'
steps twins       '6,6 batches 2 source 1'
steps critic      '12 batches 1 source 1'
steps in_backward '6,6 batches 1 source 1'
steps on_thread   '6,6 batches 1 source 1'
steps no_loader   '12 batches 0 source 1'
steps one_batch   '12 batches 1 source 1'
# How long the process had run by then, of all the time that it ran.
begin=$(date +%s%N)
train plain TRAINPROF_OVERWRITE=1 "$PYTHON" "$PROGS/loops.py" plain
age=$(sed -n 's/^#fact age=//p' "$TMP/plain/rank0.steps")
ok "the age of the process at the first step" test "${age:-0}" -gt 100000000 -a "${age:-0}" -lt $(($(date +%s%N) - begin))
# And after its last step.
train late TRAINPROF_OVERWRITE=1 "$PYTHON" -c "import runpy, sys, time
sys.argv = ['loops.py', 'plain']
runpy.run_path('$PROGS/loops.py', run_name='__main__')
time.sleep(0.4)"
after=$(sed -n 's/^#fact after=//p' "$TMP/late/rank0.steps")
ok "how long it ran after its last step" test "${after:-0}" -ge 400000000
# Eight batches and the one that made it the source came before.
steps inference   '15 batches 1 source 3'

# ---- a program that is not seen to train: a line when it is asked for, or steps by the clock ----
quiet=$TMP/empty-rings
mkdir "$quiet"
train silent "$PYTHON" "$PROGS/bare_inference.py"
is "inference without loader: nothing is said" "$status $(cat "$TMP/silent.out" "$TMP/silent.err")" '0 done'
train asked TRAINPROF_LOG=info TRAINPROF_BUFFER_DIR="$quiet" "$PYTHON" "$PROGS/bare_inference.py"
is "asked: one line" "$status $(messages_of asked | wc -l)" '0 1'
like "that says what to do" "$(messages_of asked)" 'nothing is recorded: .*TRAINPROF_STEP=clock:100'
ok "and nothing is recorded" test ! -e "$TMP/asked"
train clocked TRAINPROF_STEP=clock:1 TRAINPROF_SCHEDULE=always "$PYTHON" "$PROGS/bare_inference.py"
fuse clocked -q -v operator --top 0 "$TMP/clocked"
like "by the clock: its operators are there" "$(cat "$TMP/clocked.out")" '^aten::linear +[0-9]+ '
train by_hand TRAINPROF_LOG=info "$PYTHON" -c 'import torch
w = torch.ones(8, requires_grad=True)
w.sum().backward()'
fuse by_hand "$TMP/by_hand"
like "backward passes, updates by hand: no steps, and the merge says what to do" "$status $(cat "$TMP/by_hand.err")" \
	'^1 trainprof-merge: nothing to show in .*no step had ended; .*TRAINPROF_STEP=clock:100$'
echo 'print("done")' >"$TMP/script.py"
train script TRAINPROF_LOG=info "$PYTHON" "$TMP/script.py"
like "a script without PyTorch, asked" "$(messages_of script)" "nothing is recorded: '.*/script.py' did not load PyTorch"

done_testing
