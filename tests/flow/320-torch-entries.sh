#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# However a training starts, it is found, and what only imports torch is left alone: scripts,
# modules, commands, standard input, children of multiprocessing, torchrun. And other torches
# and interpreters of the machine: they work, or what does not is off with one line that says so.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1
cp "$PROGS/entries.py" entries.py
export TRAINPROF_SCHEDULE=wait=1,active=2,warmup=0 PYTHONPATH=$TMP

# What the training gives without us. Its last digits are the processor's.
bare bare "$PYTHON" entries.py
loss=$(cat bare.out)
like "bare: a loss" "$status $loss" '^0 0\.[0-9]+$'

# found NAME: what the traces of a run say about themselves, a line a file.
found()
{
	for file in "$TMP/$1"/*.0*.tpt; do
		"$DUMP" "$file" | awk -F'\t' '
			$1 == "META" && $2 ~ /^program=/ { program = substr($2, 9) }
			$1 == "META" && $2 ~ /^rank=/ { rank = substr($2, 6) }
			$1 == "EVENT" && $7 ~ /^Optimizer.step#SGD/ { steps++ }
			$1 == "EVENT" && $7 ~ /^AddmmBackward0/ { nodes++ }
			END { print rank, program, steps " steps", nodes " nodes" }'
	done
}
one="2 steps 4 nodes"

train script "$PYTHON" entries.py
is "script" "$status $(cat script.out) $(found script)" "0 $loss -1 file:$TMP/entries.py $one"
train module "$PYTHON" -m entries plain
is "module" "$status $(cat module.out) $(found module)" "0 $loss -1 module:entries $one"
train command "$PYTHON" -c 'import entries; print(entries.train())'
is "command" "$status $(cat command.out) $(found command)" "0 $loss -1 command $one"
train stdin "$PYTHON" <entries.py
is "standard input" "$status $(cat stdin.out) $(found stdin)" "0 $loss -1 stdin $one"

for how in import tensors; do
	train "$how" "$PYTHON" entries.py "$how"
	is "$how: nothing happens" "$status $(cat "$how.err")" "0 "
	ok "$how: no file" test ! -e "$how"
done
train import-always TRAINPROF_SCHEDULE=always "$PYTHON" entries.py import
is "import, always: one window" "$status $(ls import-always/*.tpt)" "0 import-always/rank0.0.tpt"

for how in spawn spawn-late fork; do
	train "$how" "$PYTHON" entries.py "$how"
	program=${how%-late}
	[ "$how" != fork ] || program=file:$TMP/entries.py
	is "$how: both children, not the parent" "$status $(cat "$how.out") $(found "$how")" \
		"0 0 0
$loss
$loss -1 $program $one
-1 $program $one"
done
train forkserver TRAINPROF_OVERWRITE=1 "$PYTHON" entries.py forkserver
is "forkserver: its children train" "$status $(cat forkserver.out)" "0 0 0
$loss
$loss"
like "forkserver: and are seen" "$(found forkserver)" "^-1 forkserver $one\$"

run=(-m torch.distributed.run --nproc_per_node 2 --master_port "29$((RANDOM % 900 + 100))")
bare ddp-bare "$PYTHON" "${run[@]}" entries.py ddp
is "torchrun, bare: status" "$status" 0
for schedule in wait=1,active=2,warmup=0 always; do
	train "ddp-$schedule" "TRAINPROF_SCHEDULE=$schedule" "$PYTHON" "${run[@]}" entries.py ddp
	is "torchrun, $schedule: two ranks, no agent" \
		"$status $(cat "ddp-$schedule.out") $(found "ddp-$schedule" | cut -d' ' -f1,2)" \
		"0 $(cat ddp-bare.out) 0 file:$TMP/entries.py
1 file:$TMP/entries.py"
	like "torchrun, $schedule: collectives have their own times and threads" \
		"$("$DUMP" "ddp-$schedule/"rank1.0.tpt)" 'EVENT	2	.*	1	[1-9][0-9]*	gloo:all_reduce'
done

# Debian's and Ubuntu's own torch, when it is there.
python=/usr/bin/python3
if version=$($python -c 'import torch; print(torch.__version__)' 2>/dev/null); then
	bare system-bare $python entries.py
	train system TRAINPROF_RECORD=ops,shapes,tensors $python entries.py
	is "$python, torch $version: same result" "$status $(cat system.out)" "0 $(cat system-bare.out)"
	like "$python, torch $version: recorded" "$(found system)" "$one"
	is "$python, torch $version: nothing is said but what is off" \
		"$(messages_of system | grep -v "is not recorded")" ""
	diag "$(messages_of system)"
else
	skip "$python" "has no torch (apt-get install python3-torch)"
fi
done_testing
