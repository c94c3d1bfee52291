#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# timeout: 3000
# long
#
# Our views say of a trace what TensorBoard's plugin and HolisticTraceAnalysis say of it: overview,
# operators, kernels, memory, communication; where they differ, for a reason that
# trainprof-merge(1) names. On two synthetic traces always; on the public ones, in the folder
# TRAINPROF_TRACES, where the figures must also be those of tests/golden/agreement.txt.
# TRAINPROF_READERS: as in 875. TRAINPROF_TRACE: only files with that in their name.
#
# The figures again, of all public traces (some minutes):
#   TRAINPROF_TRACES=... TRAINPROF_READERS=... tests/flow/876-agreement.sh --write

. "$(dirname "$0")/lib/lib.sh"
flow=$TOP/tests/flow/lib
golden=$TOP/tests/golden/agreement.txt
readers=${TRAINPROF_READERS:-$PYTHON}
"$readers" -c 'import torch_tb_profiler' 2>/dev/null ||
	skip_all "no torch-tb-profiler in $readers (TRAINPROF_READERS)"
# A machine's load must not change how torch's readers count.
export PYTHONHASHSEED=0

# agree TRACE: its figures in $TMP/NAME.txt
agree()
{
	local name

	name=$(basename "$1" .json.gz)
	agree_by "$name" "$flow/agreement.py" "$MERGE" "$TMP/$name.txt" "$1"
}

# agree_ranks NAME TRACE...: the same of the collectives of a job's ranks
agree_ranks()
{
	agree_by "$1" "$flow/agreement_comm.py" "$MERGE" "$TMP/$1.txt" "$@"
}

# agree_by NAME COMMAND...: the lines of TAP that it prints
agree_by()
{
	local name=$1

	shift
	relay "" < <("$readers" "$@" 2>"$TMP/$name.err" || echo "# $(tail -n 1 "$TMP/$name.err")")
	ok "$name: read by all" test -s "$TMP/$name.txt"
}

# Of the golden file, what is told of a trace.
golden_of()
{
	awk -v name="$1" '/^[^# ]/ { is_it = $0 == name } is_it && NF' "$golden"
}

for dialect in new old; do
	"$PYTHON" "$flow/kineto_synth.py" "$TMP/$dialect.json.gz" $dialect
	agree "$TMP/$dialect.json.gz"
	like "$dialect: figures of every view" "$(cut -f 2 "$TMP/$dialect.txt" | sort -u | tr '\n' ' ')" \
		'kernel .*memory .*operator .*overview'
done

for library in nccl gloo gloo-gpu; do
	"$PYTHON" "$flow/comm_synth.py" "$TMP/$library" 3 $library
	agree_ranks "ranks $library" "$TMP/$library"/*.json
	like "ranks $library: figures of communication" \
		"$(cut -f 3 "$TMP/ranks $library.txt" | tr '\n' ' ')" \
		'step: overlapping.*collective: total transfer'
done

# golden NAME: the figures of public traces
golden()
{
	[ "$write" = --write ] && return
	if grep -qx "$1" "$golden"; then
		is "$1: the figures of tests/golden/agreement.txt" "$(grep . "$TMP/$1.txt")" \
			"$(golden_of "$1")"
	else
		skip "$1: the figures of tests/golden/agreement.txt" "none of this trace"
	fi
}

write=${1:-}
folder=${TRAINPROF_TRACES:-/nowhere}
traces=()
for from in tb hta param lens puzzlers; do
	traces+=("$folder/$from"/*.json.gz)
done
for trace in "${traces[@]}"; do
	case $trace in *"${TRAINPROF_TRACE:-}"*) ;; *) continue ;; esac
	# All ranks of that job are below; here one of them.
	case $trace in */dlrm_kineto_worker[1-9]*) continue ;; esac
	[ -e "$trace" ] || continue
	gzip -cd "$trace" | head -c 100000 | grep -q '"ph"' || continue
	name=$(basename "$trace" .json.gz)
	agree "$trace"
	golden "$name"
done
# Ranks of one job, and what one rank of others says.
while read -r name ranks; do
	case $name in *"${TRAINPROF_TRACE:-}"*) ;; *) continue ;; esac
	mapfile -t paths < <(for one in $ranks; do ls "$folder"/*/"$one"*.json.gz 2>/dev/null; done)
	[ ${#paths[@]} -gt 0 ] || continue
	agree_ranks "$name" "${paths[@]}"
	golden "$name"
done <<-END
	ranks_trace_filter trace_filter_sampled_rank-0 trace_filter_sampled_rank-1
	ranks_cpu_only cpu_only_rank-34
	ranks_dlrm dlrm_kineto_worker
	ranks_df_index_resolver df_index_resolver
	ranks_nccl_parser_config nccl_parser_config
	ranks_negative_queue negative_queue_length
	ranks_trace_diff_control trace_diff_control
	ranks_trace_diff_test trace_diff_test
END
if [ "${1:-}" = --write ]; then
	{
		sed -n '/^#/p' "$golden"
		for trace in "${traces[@]}"; do
			cat "$TMP/$(basename "$trace" .json.gz).txt" 2>/dev/null
		done
		cat "$TMP"/ranks_*.txt
	} >"$TMP/agreement.txt"
	cp "$TMP/agreement.txt" "$golden"
fi
[ -n "${TRAINPROF_TRACES:-}" ] || skip "real traces" "TRAINPROF_TRACES names no folder of them"
done_testing
