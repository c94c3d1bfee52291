#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A GPU trace in every format of timelines, read by the real Perfetto: each span once, to the
# nanosecond, on the row of its stream, with an arrow from its launch, and nothing dropped.

. "$(dirname "$0")/lib/lib.sh"
need_perfetto
flow=$TOP/tests/flow/lib

# look NAME TRACE
look()
{
	mkdir -p "$TMP/$1"
	fuse "$1" -q -f chrome,perfetto,torch,torch:tb -o "$TMP/$1" "$2"
	is "$1: merge's exit status" "$status" 0
	said=$("$PYTHON" "$flow/perfetto_gpu.py" "$web_dist" "$2" "$TMP/$1/node0.json.gz" \
		"$TMP/$1/node0.pftrace.gz" "$TMP/$1"/torch/*.pt.trace.json.gz \
		"$TMP/$1"/torch-tb/*.pt.trace.json.gz 2>&1)
	is "$1: Perfetto reads what is in the trace, in each of four formats" "$?" 0
	diag "$(printf '%s\n' "$said" | cut -c 1-300)"
}

for dialect in old new; do
	"$PYTHON" "$flow/kineto_synth.py" "$TMP/$dialect.json.gz" $dialect
	look $dialect "$TMP/$dialect.json.gz"
done
if "$PYTHON" -c 'import google.protobuf, perfetto' 2>/dev/null; then
	ok "every packet decodes, with no unknown field" \
		"$PYTHON" "$flow/pftrace_decode.py" "$TMP/new/node0.pftrace.gz"
else
	skip "every packet decodes, with no unknown field" "no Python module perfetto (make setup)"
fi

# That the check can fail: a kernel is gone, a time is off.
gzip -dc "$TMP/new/node0.json.gz" >"$TMP/whole.json"
sed '0,/"cat":"kernel"/{/"cat":"kernel"/d}' "$TMP/whole.json" >"$TMP/short.json"
said=$("$PYTHON" "$flow/perfetto_gpu.py" "$web_dist" "$TMP/new.json.gz" "$TMP/short.json" 2>&1)
like "a kernel that is missing is found" "$said" 'kernel: [0-9]+ of [0-9]+ ns in the trace'
sed '/"cat":"gpu_memcpy"/s/"dur":\([0-9]*\)\./"dur":9\1./' "$TMP/whole.json" >"$TMP/longer.json"
said=$("$PYTHON" "$flow/perfetto_gpu.py" "$web_dist" "$TMP/new.json.gz" "$TMP/longer.json" 2>&1)
like "times that are off are found" "$said" 'gpu_memcpy: '

for trace in "${TRAINPROF_TRACES:-/nowhere}"/tb/*.json.gz; do
	[ ! -e "$trace" ] || look "$(basename "$trace" .json.gz)" "$trace"
done
[ -n "${TRAINPROF_TRACES:-}" ] || skip "real traces" "TRAINPROF_TRACES names no folder of them"
done_testing
