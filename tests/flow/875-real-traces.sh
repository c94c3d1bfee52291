#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# timeout: 3000
# long
# alone
#
# A trace of a real training passes through the whole product (replay, library, stand-ins, merge)
# and comes out as it was: kernel by kernel, by TensorBoard's plugin and by HTA. Our kernel view
# says what the plugin says. A synthetic trace always; real ones from the folder
# TRAINPROF_TRACES. TRAINPROF_READERS: a python with torch-tb-profiler 0.4.3 and
# HolisticTraceAnalysis 0.5.0 (pandas < 3, setuptools < 81).

. "$(dirname "$0")/lib/lib.sh"
FAKES=${FAKES:-$O/tests/fakes}
replay=$O/tests/progs/replay
[ -e "$FAKES/libcuda.so.1" ] || skip_all "no stand-ins for CUDA (make fakes)"
[ -e "$replay" ] || skip_all "no '$replay' (make fakes)"
cd "$TMP" || exit 1
flow=$TOP/tests/flow/lib
readers=${TRAINPROF_READERS:-$PYTHON}
# A short trace is played slower than it was: the host is then late by less of what is measured.
SLOW=0.25
LONG_NS=3000000000
LATE_US=200	# or a 200th of the trace, if that is less
ATTEMPTS=3

# once NAME: NAME.replay under the library; the greatest lateness (us of the trace) in $late: one
# call that comes late is enough to change a sum or the length of a queue.
once()
{
	local folder=
	# The driver's version is what the library is chosen by.
	grep -q '^cupti	.*driver=12' "$1.replay" && folder=$FAKES/12.0:
	rm -rf "$1"
	train "$1" "LD_LIBRARY_PATH=$folder$FAKES" TRAINPROF_PROGRAM=replay TRAINPROF_SCHEDULE=always \
		'TRAINPROF_STEP=range:ProfilerStep#*' \
		"$replay" "$1.replay" --speed $speed
	late=$(sed -n "s/^replay: .* \([0-9]*\)\.[0-9]* us at most.*/\1/p" "$1.err")
	late=$(awk -v us="${late:-0}" -v x=$speed 'BEGIN { printf "%d", us * x }')
}

# directly NAME TRACE: the trace itself, read by the merge and written again: nothing is late.
directly()
{
	local kind out result
	for kind in torch torch:tb; do
		out=$1-direct-${kind#torch:}
		fuse "$out-merge" -q -f $kind -o "$out" "$2"
		result=$(find "$out" -name '*.pt.trace.json.gz' | head -n 1)
		"$PYTHON" "$flow/kineto_scale.py" "$result" "$out.json.gz" 1
	done
	"$PYTHON" "$flow/compare_kernels.py" "$2" "$1-direct-torch.json.gz" |
		relay "$1: read as it is: " >direct.tap
	if "$readers" -c 'import hta' 2>/dev/null; then
		"$readers" "$flow/compare_hta.py" "$2" "$1-direct-torch.json.gz" 2>hta.err |
			relay "$1: read as it is: HTA: " >>direct.tap
	fi
	cat direct.tap
	counted direct.tap
}

# chain NAME TRACE
chain()
{
	local name=$1 trace=$2 only='' kind out length result most
	if ! "$PYTHON" "$flow/kineto_to_replay.py" "$trace" "$name.replay" 2>"$name.counts"; then
		fail "$name: converted" "$(cat "$name.counts")"
		return
	fi
	length=$(sed -n 's/.*	end=\([0-9]*\).*/\1/p' "$name.replay" | sort -n | tail -n 1)
	speed=$SLOW
	[ "${length:-0}" -lt $LONG_NS ] || speed=1
	most=$((${length:-0} / 200000))
	[ $most -lt $LATE_US ] || most=$LATE_US
	for ((i = 0; i < ATTEMPTS; i++)); do
		once "$name"
		if [ "$late" -le "$most" ] || [ $speed = 1 ]; then
			break
		fi
	done
	is "$name: runs" "$status" 0
	diag "$(grep '^replay:' "$name.err")"
	[ "$late" -le "$most" ] || only=--device-only
	for kind in torch torch:tb; do
		out=$name-${kind#torch:}
		fuse "$out-merge" -q -f $kind -o "$out" "$name"
		# A replay of another rank than 0 starts again, and leaves an empty trace behind.
		result=$(find "$out" -name '*.pt.trace.json.gz' -printf '%s %p\n' | sort -n |
			tail -n 1 | cut -d ' ' -f 2-)
		"$PYTHON" "$flow/kineto_scale.py" "$result" "$out.json.gz" $speed
	done
	"$PYTHON" "$flow/compare_kernels.py" $only "$trace" "$name-torch.json.gz" |
		relay "$name: " >kernels.tap
	cat kernels.tap
	counted kernels.tap
	if "$readers" -c 'import torch_tb_profiler' 2>/dev/null; then
		# shellcheck disable=SC2086
		"$readers" "$flow/compare_tb.py" $only "$trace" "$name-tb.json.gz" $golden 2>tb.err |
			relay "$name: plugin: " >tb.tap
		cat tb.tap
		counted tb.tap
		ok "$name: plugin: it read both" grep -q 'operators$\|operators #' tb.tap
		# Times of the host are as late as the replay was, and the run begins before its
		# first step; the trace itself has neither (876-agreement.sh).
		fuse "$name-views" -q -f jsonl -v kernel --top 0 -o "$name.jsonl" "$name"
		"$readers" "$flow/compare_views.py" "$trace" "$name.jsonl" $speed 2>views.err |
			relay "$name: " >views.tap
		cat views.tap
		counted views.tap
	else
		skip "$name: TensorBoard's plugin" "no torch-tb-profiler in $readers (TRAINPROF_READERS)"
	fi
	if "$readers" -c 'import hta' 2>/dev/null; then
		"$readers" "$flow/compare_hta.py" $only "$trace" "$name-torch.json.gz" 2>hta.err |
			relay "$name: HTA: " >hta.tap
		cat hta.tap
		counted hta.tap
		ok "$name: HTA: it read both" grep -q 'queue lengths' hta.tap
	else
		skip "$name: HTA" "no HolisticTraceAnalysis in $readers (TRAINPROF_READERS)"
	fi
	directly "$name" "$trace"
}

# relay ran in a subshell: its counts are taken from what it wrote.
counted()
{
	n_checks=$((n_checks + $(grep -c '^\(not \)\{0,1\}ok' "$1")))
	n_failed=$((n_failed + $(grep -c '^not ok' "$1")))
}

golden=
for dialect in new old; do
	"$PYTHON" "$flow/kineto_synth.py" "$dialect.json.gz" $dialect
	chain $dialect "$TMP/$dialect.json.gz"
done

folder=${TRAINPROF_TRACES:-/nowhere}
golden=$(find "$folder" -name '*result_check_file.txt' 2>/dev/null | head -n 1)
for trace in "$folder"/*.json.gz "$folder"/*/*.json.gz; do
	[ -e "$trace" ] || continue
	# What other makers' devices do cannot be replayed on stand-ins of CUDA's.
	case $trace in *"${TRAINPROF_TRACE:-}"*) ;; *) continue ;; esac
	if gzip -cd "$trace" | grep -q '"cat": "\(cuda_runtime\|cuda_driver\|Runtime\)"' &&
		! gzip -cd "$trace" | grep -q '"name": "hip[A-Z]'; then
		chain "$(basename "$trace" .json.gz)" "$trace"
	else
		skip "$(basename "$trace")" "no CUDA in it"
	fi
done
[ -n "${TRAINPROF_TRACES:-}" ] || skip "real traces" "TRAINPROF_TRACES names no folder of them"
done_testing
