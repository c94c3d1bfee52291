#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the views say of GPUs, and timelines draw, is what a plain computation says of the same
# trace: an invented one in both dialects, and, where TRACES names them, real ones.

. "$(dirname "$0")/lib/lib.sh"
flow=$TOP/tests/flow/lib

# ask PROGRAM ARGUMENT...: the lines of TAP that it prints; to end with an error is one, too.
ask()
{
	relay "" < <("$PYTHON" "$flow/$1" "${@:2}" 2>&1 || echo "not ok - $1: exit status $?")
}

for dialect in old new; do
	"$PYTHON" "$flow/kineto_synth.py" "$TMP/$dialect.json.gz" $dialect
	set -- "$@" "$TMP/$dialect.json.gz"
done
for trace in "$@" ${TRACES:-}; do
	diag "$(basename "$trace")"
	ask gpu_reference.py "$MERGE" "$trace"
	mkdir "$TMP/out"
	fuse curve -q -f chrome,perfetto -o "$TMP/out" "$trace"
	ask gpu_curve.py "$TMP"/out/*.json.gz "$TMP"/out/*.pftrace.gz
	rm -r "$TMP/out"
done

fuse gpu -q -v overview "$TMP/new.json.gz"
like "the overview names the device" "$(cat "$TMP/gpu.out")" 'Invented A100 +39.4 GiB +8.0 '
like "and says why it was idle" "$(cat "$TMP/gpu.out")" 'GPU idle .* waiting for .*the host'
fuse times -q -f csv -v overview "$TMP/new.json.gz"
is "the time of a device is that of kernels and of what they waited for" \
	"$(awk -F, '/^table,/ { for (i = 1; i <= NF; i++) at[$i] = i }
		/^gpu_time/ { print $at["time_ns"] - $at["kernel_ns"] - $at["idle_copy_ns"] - \
			$at["idle_host_ns"] - $at["idle_queue_ns"] - $at["idle_other_ns"], \
			($at["busy_ns"] > $at["kernel_ns"]), ($at["launches"] > 100) }' "$TMP/times.out")" '0 1 1'
TERM=dumb "$PYTHON" "$TOP/tests/flow/lib/on_terminal.py" 100 100 "$MERGE" -q -v kernel "$TMP/new.json.gz" \
	>"$TMP/narrow.out"
is "the kernel view fits a terminal of 100 columns" "$(awk 'length > 110' "$TMP/narrow.out")" ''
fuse sort -q -v kernel --sort nonsense "$TMP/new.json.gz"
is "a sort key that is none" "$status" 2

fuse torch -q -f torch -o "$TMP/torch" "$TMP/new.json.gz"
is "torch's format has no curves: its readers compute their own" \
	"$(cat "$TMP"/torch/*.gz | gzip -dc | grep -c 'time with a kernel\|SM efficiency')" 0
"$PYTHON" "$flow/gpu_curve.py" without "$TMP/new.json.gz" "$TMP/host.json"
fuse host -q -f chrome -o "$TMP/host.out.json" "$TMP/host.json"
is "nor has a run without a GPU" "$(grep -c 'time with a kernel' "$TMP/host.out.json")" 0

# Whole microseconds make spans equal: the one that the file has first is the outer one. A call of
# the driver's takes its time from the operator, as one of the runtime's does.
cat >"$TMP/ties.json" <<'EOF'
{"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 100, "dur": 5, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 100, "dur": 5, "args": {}},
{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 200, "dur": 50, "args": {}},
{"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 1, "tid": 1, "ts": 210, "dur": 20,
 "args": {"correlation": 5}}
]}
EOF
fuse ties -q -v operator -f csv "$TMP/ties.json"
is "what is the own time of equal spans, and of one around a call of the driver's" \
	"$(cut -d, -f3,7 "$TMP/ties.out" | tail -n +2 | sort | tr '\n' ' ')" \
	'cuLaunchKernel,20000 inner,5000 op,30000 outer,0 '

done_testing
