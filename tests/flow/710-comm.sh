#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Collectives across ranks: each is met once on every rank, with its bytes; a rank that is late is
# named, and what makes it late, also in traces of GPUs. With LONG=1: trainings in which nobody is
# late, nobody is named.

. "$(dirname "$0")/lib/lib.sh"
need_torch

port=$((29100 + RANDOM % 800))

# ranks NAME N [ARGUMENTS]: N ranks of late_rank.py, steps 3 to 10 recorded ($active of them); then the view.
ranks()
{
	local name=$1 n=$2
	shift 2
	port=$((port + 1))
	train "$name" TRAINPROF_SCHEDULE=wait=2,warmup=1,active="${active:-8}" \
		"$PYTHON" -m torch.distributed.run --nproc_per_node "$n" --master_port "$port" \
		"$PROGS/late_rank.py" "$@"
	is "$name: exit status" "$status" 0
	fuse "$name-comm" -q -v comm "$TMP/$name"
	fuse "$name-rows" -q -f jsonl -v comm "$TMP/$name"
	is "$name: merge" "$status" 0
}

# What each rank does in a step: one bucket (19,210 floats), the loss, a barrier.
for n in 2 3; do
	ranks "even$n" "$n"
	ok "$n ranks: each collective once on each, with its bytes" "$PYTHON" - \
		"$TMP/even$n-rows.out" "$n" <<-'EOT'
	import json, sys

	n = int(sys.argv[2])
	rows = [json.loads(line) for line in open(sys.argv[1])]
	found = {(r["collective"], r["bytes"]): r for r in rows if r["table"] == "collectives"}
	for key in (("all_reduce", 19210 * 4), ("all_reduce", 4)):
	    row = found[key]
	    assert (row["calls"], row["matched"], row["ranks"]) == (8 * n, 8, n), row
	    assert row["dtype"] == "f32" and row["wait_ns"] >= 0 and row["move_ns"] > 0, row
	assert sum(r["matched"] for r in rows if r.get("collective") == "barrier") == 8, rows
	ranks = [r for r in rows if r["table"] == "comm_ranks"]
	assert [r["rank"] for r in ranks] == ["rank %d" % i for i in range(n)], ranks
	assert all(r["steps"] == 8 and r["compute_ns"] > 0 for r in ranks), ranks
	assert abs(sum(r["last_percent"] for r in ranks) - 100) < 0.5, ranks
	EOT
	unlike "$n ranks: nothing without a partner" "$(cat "$TMP/even$n-comm.out")" 'partner|before another'
done

for late in 'data:loading data' 'host:host code outside operators' \
	'ops:operators on the host'; do
	ranks "late-${late%%:*}" 2 --late "${late%%:*}" --ms 60
	like "late by ${late%%:*}: the rank" "$(cat "$TMP/late-${late%%:*}-comm.out")" \
		'^rank 1 is the straggler: last in '
	like "late by ${late%%:*}: the cause" "$(cat "$TMP/late-${late%%:*}-comm.out")" \
		"^  cause: ${late#*:}, "
done

# Buckets that are under way together are late together: once, and never more than the step takes.
for n in 2 8 ${LONG:+1 4}; do
	ranks "buckets$n" 2 --late data --buckets "$n"
	like "$n buckets: the rank" "$(cat "$TMP/buckets$n-comm.out")" '^rank 1 is the straggler: last in '
	like "$n buckets: the cause" "$(cat "$TMP/buckets$n-comm.out")" '^  cause: loading data, '
	ok "$n buckets: a rank's lateness is less than its steps" "$PYTHON" - "$TMP/buckets$n-rows.out" "$n" <<-'EOT'
	import json, sys

	rows = [json.loads(line) for line in open(sys.argv[1])]
	# One more may reach into the window from before, one less where the window opened late.
	calls = sum(r["calls"] for r in rows if r["table"] == "collectives")
	steps = [r for r in rows if r["table"] == "comm_steps"]
	rank = [r for r in rows if r["table"] == "comm_ranks"][1]
	assert abs(calls - 2 * 8 * int(sys.argv[2])) <= 2, calls
	assert len(steps) == 16 and all(0 <= r["late_ns"] <= r["time_ns"] for r in steps), steps
	assert 15e6 < rank["late_ns"], rank
	EOT
done
# By a known time, longer than what else a step does: what is reported is by how much the program itself saw
# rank 1 come later, within a tenth, a quarter of what the ranks compute from there to the collective, and what
# that differs from step to step, which is much on a busy machine.
for n in 1 2 4 8; do
	ranks "known$n" 2 --late data --buckets "$n" --ms 80
	shown "$n buckets: late by as much as the program saw" "$PYTHON" - "$TMP/known$n-rows.out" "$TMP/known$n.out" <<-'EOT'
	import json, re, statistics, sys

	rows = [json.loads(line) for line in open(sys.argv[1])]
	came = {int(rank): list(map(int, times.split())) for rank, times in
	        re.findall(r"rank (\d) came ([\d ]+)", open(sys.argv[2]).read())}
	ranks = [r for r in rows if r["table"] == "comm_ranks"]
	late = {r["step"]: r["late_ns"] for r in rows if r["table"] == "comm_steps" and r["process"] == "rank 1"}
	assert len(late) == 8, late
	behind = {step: max(0, came[1][step] - came[0][step]) for step in late}
	is_, seen = statistics.median(behind.values()), statistics.median(late.values())
	low, _, high = statistics.quantiles([late[step] - behind[step] for step in late], n=4)
	print("came %.1f ms later, late %.1f ms in the median step: %.1f %% off; between steps %.1f ms" % (
	    is_ / 1e6, seen / 1e6, 100 * abs(seen - is_) / is_, (high - low) / 1e6))
	noise = max(r["compute_ns"] for r in ranks) / 4 + high - low
	assert is_ > 40e6 and abs(seen - is_) <= is_ / 10 + noise, (behind, late)
	EOT
done
# In every fourth step, as a checkpoint is.
active=16 ranks every 2 --late host --every 4 --steps 22
like "late in every fourth step: the rank" "$(cat "$TMP/every-comm.out")" '^rank 1 is the straggler: last in '
like "late in every fourth step: the cause" "$(cat "$TMP/every-comm.out")" '^  cause: host code outside operators, '

# On GPUs: traces of three ranks, the last of which does something 5 ms longer in each step.
for late in none: 'kernel:its kernels' 'host:host code outside operators' 'loader:loading data'; do
	gpu=$TMP/gpu-${late%%:*}
	mkdir -p "$gpu"
	"$PYTHON" "$TOP/tests/flow/lib/straggler_synth.py" "$gpu" 3 "${late%%:*}"
	fuse "gpu-${late%%:*}" -q -v comm "$gpu"/rank*.json
	if [ "$late" = none: ]; then
		like "GPUs, nobody is late" "$(cat "$gpu.out")" '^no rank is a straggler'
		continue
	fi
	like "GPUs, late by 5 ms of ${late%%:*}: the rank" "$(cat "$gpu.out")" \
		'^rank 2 is the straggler: last in .*, (4.9|5.0)[0-9] ms late per step'
	like "GPUs, late by 5 ms of ${late%%:*}: the cause" "$(cat "$gpu.out")" "^  cause: ${late#*:}, "
	like "GPUs, late by 5 ms of ${late%%:*}: in every step" "$(cat "$gpu.out")" '^  rank 2 +1{10}$'
done

# A rank whose trace is not there is told of, and the others are matched without it.
rm -f "$TMP"/even3/rank1.*
fuse missing -q -v comm "$TMP/even3"
is "a rank is missing: exit status" "$status" 0
like "a rank is missing: which" "$(cat "$TMP/missing.out")" '^no trace of rank 1: '
like "a rank is missing: the others are matched" "$(cat "$TMP/missing.out")" \
	'^default +0,2 +1 +48 +24 '

if [ "${LONG:-}" = 1 ]; then
	accused=0
	for i in $(seq 20); do
		ranks "healthy$i" 2
		! grep -q 'is the straggler:' "$TMP/healthy$i-comm.out" || accused=$((accused + 1))
		rm -rf "$TMP/healthy$i"
	done
	is "20 trainings in which nobody is late: accusations" "$accused" 0
fi
done_testing
