#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Traces of torch.profiler that lack something: what the rest of the file tells is shown all the
# same, and what nothing tells is unknown, not 0.

. "$(dirname "$0")/lib/lib.sh"

# trace NAME DEVICES EVENT...: a trace of torch.profiler with these device properties and events.
trace()
{
	local name=$1 devices=$2 event
	shift 2
	{
		printf '{"schemaVersion": 1, "deviceProperties": [%s], "traceEvents": [\n' "$devices"
		printf '{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 9, "tid": 9, '
		printf '"ts": 1000, "dur": 1000, "args": {}}'
		for event in "$@"; do
			printf ',\n%s' "$event"
		done
		printf '\n]}\n'
	} >"$TMP/$name.json"
}

# row NAME TABLE FIELD: of the first row of that table.
row()
{
	"$PYTHON" - "$TMP/$1.out" "$2" "$3" <<-'EOF'
		import json, sys
		for line in open(sys.argv[1]):
		    row = json.loads(line)
		    if row.get("table") == sys.argv[2]:
		        print(row.get(sys.argv[3]))
		        break
	EOF
}

# ---- occupancy ----

launch='{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1010,
"dur": 5, "args": {"correlation": 3}}'
kernel='{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1100, "dur": 500, "args": {
"device": 0, "context": 1, "stream": 7, "correlation": 3, "registers per thread": 32,
"shared memory": 0, "blocks per SM": 0.5, "warps per SM": 4, "grid": [54, 1, 1], "block": [256, 1, 1],
"est. achieved occupancy %": 42}}'
trace lacking '{"id": 0, "name": "GPU", "totalGlobalMem": 17179869184, "computeMajor": 8,
"computeMinor": 0, "maxThreadsPerBlock": 1024, "regsPerBlock": 65536, "sharedMemPerBlock": 49152,
"numSms": 108}' "$launch" "$kernel"
trace nothing '' "$launch" "$kernel"
for name in lacking nothing; do
	fuse $name -q -f jsonl -v overview,kernel "$TMP/$name.json"
	is "$name: taken" "$status" 0
	is "$name: blocks per multiprocessor" "$(row $name kernel blocks_per_sm)" 0.5
	is "$name: the occupancy is the kernel's own" "$(row $name kernel occupancy_percent)" 42
	is "$name: also in the overview" "$(row $name gpu occupancy_percent)" 42
	is "$name: efficiency of the multiprocessors" "$(row $name gpu sm_efficiency_percent)" 25
	fuse $name-text -q -v overview,kernel "$TMP/$name.json"
	is "$name: both views say whose it is" \
		"$(grep -c "torch.profiler's own estimate" "$TMP/$name-text.out")" 2
	fuse $name-chrome -q -f torch -o "$TMP/$name-torch" "$TMP/$name.json"
	like "$name: it goes on into timelines" "$(zcat "$TMP/$name-torch"/*.json.gz)" \
		'"blocks per SM":0.5,"warps per SM":4,.*"est. achieved occupancy %":42'
done

# ---- memory without addresses: torch before 1.12 ----

op='{"ph": "X", "cat": "Operator", "pid": 9, "tid": 9'
block='{"ph": "i", "s": "t", "name": "[memory]", "pid": 9, "tid": 9, "args": {"Device Type": 0, "Device Id": -1, "Bytes"'
trace old '' "$op, \"name\": \"aten::linear\", \"ts\": 1010, \"dur\": 100}" \
	"$op, \"name\": \"aten::empty\", \"ts\": 1020, \"dur\": 50}" "$block: 4096}, \"ts\": 1030}" \
	"$block: 100}, \"ts\": 1080}" "$block: -100}, \"ts\": 1090}" "$block: -4096}, \"ts\": 1500}"
fuse old-text -v memory "$TMP/old.json"
like "old: what is not known is said" "$(cat "$TMP/old-text.err")" \
	'4 memory events have no address \(torch before 1.12\): how long blocks lived is not known'
like "old: an operator: bytes, net, itself, allocations" "$(cat "$TMP/old-text.out")" \
	'aten::linear +1 +4.00 KiB +0 B +1 +4.10 KiB +100 B'
fuse old -q -f jsonl -v memory "$TMP/old.json"
is "old: the operator inside" "$(row old tensor_operators self_allocated_bytes)" 4096
unlike "old: nothing is said of lives and of what was alive" "$(cat "$TMP/old.out")" \
	'tensor_(blocks|steps|curve|categories|holders)"'
fuse old-torch -q -f torch -o "$TMP/old-torch" "$TMP/old.json"
is "old: in timelines, too, without an address" \
	"$(zcat "$TMP/old-torch"/*.json.gz | grep '\[memory\]' | grep -vc Addr)" 4

# ---- ROCm's copies ----

trace rocm '{"id": 0, "name": "AMD Radeon Graphics", "warpSize": 64, "numSms": 104}' "$launch" '{"ph": "X",
"cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 1100, "dur": 50, "args": {"device": 0,
"stream": 7, "correlation": 3, "kind": "HtoD"}}'
fuse rocm -q -f jsonl -v overview,kernel "$TMP/rocm.json"
is "ROCm: a copy keeps its name" "$(row rocm copies copy)" "Memcpy HtoD"
is "ROCm: bytes that are not told are not known" "$(row rocm copies bytes)" "?"
is "ROCm: nor is their speed" "$(row rocm copies gb_per_s)" "?"
is "ROCm: nor is the device's memory" "$(row rocm gpu memory_bytes)" "?"
is "ROCm: nor its capability" "$(row rocm gpu capability)" "?"
fuse rocm-torch -q -f torch -o "$TMP/rocm-torch" "$TMP/rocm.json"
like "ROCm: in timelines, too" "$(zcat "$TMP/rocm-torch"/*.json.gz | grep '"Memcpy HtoD"')" \
	'"cat":"gpu_memcpy","name":"Memcpy HtoD"'
unlike "ROCm: without bytes" "$(zcat "$TMP/rocm-torch"/*.json.gz | grep '"Memcpy HtoD"')" '"bytes"|bandwidth'

done_testing
