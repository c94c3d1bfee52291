#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Five trainings, each with a problem, and somebody who knows nothing of them: what the overview
# says in its first screen names the problem, and the line in the user's own code. A healthy
# one is not accused of any of these.

. "$(dirname "$0")/lib/lib.sh"
need_torch
FAKES=${FAKES:-$O/tests/fakes}

# line_of NAME: where its problem is, as "problem_NAME.py:LINE".
line_of()
{
	echo "problem_$1.py:$(grep -n '# the problem' "$PROGS/problem_$1.py" | cut -d : -f 1)"
}

# problem NAME RULE PLACE [VARIABLE=VALUE..] COMMAND..: the rule is in the first screen, and the place.
problem()
{
	local name=$1 rule=$2 place=$3 screen
	shift 3
	train "$name" "$@"
	is "$name: the training ends well" "$status" 0
	fuse "$name-merge" -v overview "$TMP/$name"
	screen=$(head -n 20 "$TMP/$name-merge.out" | sed -n '/^What holds it back/,/^$/p' | tr -s ' \n' ' ')
	is "$name: the answer comes first" "$(sed -n 2p "$TMP/$name-merge.out")" 'What holds it back'
	like "$name: the rule" "$screen" " $rule "
	like "$name: the place" "$screen" " $rule [^/]*[/ ][^ ]*$place"
}

problem loader data-loading "problem_loader.py:[0-9]+ Photos.__getitem__" "$PYTHON" "$PROGS/problem_loader.py"
problem leak memory-growth "$(line_of leak)" "$PYTHON" "$PROGS/problem_leak.py"
# Where samples cannot be had it is the lines around it that are named.
line=$(sed -n '/log_statistics(rank)$/{n;=}' "$PROGS/problem_rank.py")
problem rank uneven-ranks "problem_rank.py:[0-9]+ (log_statistics|main and [^ ]*problem_rank.py:$line)" \
	"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port 29523 \
	"$PROGS/problem_rank.py"

if torch_takes_fakes; then
	problem item synchronising "$(line_of item)" "LD_LIBRARY_PATH=$FAKES" FAKE_PIECES=16 \
		"$PYTHON" "$PROGS/fake_gpu.py" "$PROGS/problem_item.py"
	problem launches host-bound "$(line_of launches)" "LD_LIBRARY_PATH=$FAKES" \
		"$PYTHON" "$PROGS/fake_gpu.py" "$PROGS/problem_launches.py"
else
	skip "problems of a GPU" "$no_fakes"
fi

cores=$(env -u OMP_NUM_THREADS nproc)
train healthy "$PYTHON" "$PROGS/train_gpt.py" --steps 12 --threads $((cores < 4 ? cores : 4))
fuse healthy-merge -v overview "$TMP/healthy"
# But for what other programs of the machine do to it, which it says, too.
is "a healthy training is not accused" "$(awk '/^What holds it back/ { is_in = 1; next } /^$/ { is_in = 0 }
	is_in && /^  [a-z]/ && $1 != "waits-for-cores" { print $1 }' "$TMP/healthy-merge.out")" ''
if grep -q '^  waits-for-cores ' "$TMP/healthy-merge.out"; then
	skip "its first line says so" "other programs have the cores"
else
	like "its first line says so" "$(sed -n 2p "$TMP/healthy-merge.out")" \
		'^Nothing stands out; the largest parts of a step: '
fi

# The other views begin with theirs.
like "memory: what stays, and the line" "$(COLUMNS=200 "$MERGE" -q -v memory "$TMP/leak" | sed -n 3p)" \
	"^Tensor memory peaks at .*; kept across steps: .*, allocated by aten::mul at progs/$(line_of leak) "
like "trace: what took longest" "$(COLUMNS=200 "$MERGE" -q -v trace "$TMP/leak" | sed -n 3p)" \
	'^(Most of it is|The largest parts are) [^,]* \([0-9.]+ %\), .* \([0-9.]+ %\)\.$'
like "diff: how much longer, and where" "$(COLUMNS=200 "$MERGE" -q --compare "$TMP/loader" "$TMP/leak" | sed -n 3p)" \
	'^Step time [-+][0-9.]+ % \(median .* -> .*\): .* [-+][0-9.]+ [mu]?s per step \(.*\)\.$'
like "diff of a run with itself: the same" "$(COLUMNS=200 "$MERGE" -q --compare "$TMP/leak" "$TMP/leak" | sed -n 3p)" \
	'^Step time is the same: median (of .* windows )?(.*), base \2 \(\+0\.0 %\)\.$'

done_testing
