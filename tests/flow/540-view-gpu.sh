#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the views say of GPUs is what a plain computation says of the same trace: an invented one
# in both dialects, and, where TRACES names them, real ones.

. "$(dirname "$0")/lib.sh"
flow=$(cd "$(dirname "$0")" && pwd)

for dialect in old new; do
	"$PYTHON" "$flow/kineto_synth.py" "$TMP/$dialect.json.gz" $dialect
	set -- "$@" "$TMP/$dialect.json.gz"
done
for trace in "$@" ${TRACES:-}; do
	diag "$(basename "$trace")"
	while IFS= read -r line; do
		case $line in
		"ok - "*) pass "${line#ok - }" ;;
		"not ok - "*) fail "${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done < <("$PYTHON" "$flow/gpu_reference.py" "$MERGE" "$trace" 2>&1)
done

fuse gpu -q -v overview "$TMP/new.json.gz"
like "the overview names the device" "$(cat "$TMP/gpu.out")" 'Invented A100 +39.4 GiB +8.0 '
like "and says why it was idle" "$(cat "$TMP/gpu.out")" 'no kernel .* waiting for .*the host'
fuse narrow -q -v kernel "$TMP/new.json.gz"
is "the kernel view fits 100 columns" "$(awk 'length > 110' "$TMP/narrow.out")" ''
fuse sort -q -v kernel --sort nonsense "$TMP/new.json.gz"
is "a sort key that is none" "$status" 2

done_testing
