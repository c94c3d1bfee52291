#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A training's merge in the real Perfetto (its trace processor, under node): no import error, and
# slices, tracks, counters and arrows are those of the trace files, in JSON and in protobuf.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_perfetto
need_module perfetto
tptdump=$O/tests/progs/tptdump

# look NAME FOLDER: merged to both formats, compared with the trace files.
look()
{
	fuse "$1" -q -f chrome,perfetto "$2"
	is "$1: merge's exit status" "$status" 0
	said=$("$PYTHON" "$TOP/tests/flow/lib/perfetto_check.py" "$web_dist" "$tptdump" "$2" \
		"$2/node0.json.gz" "$2/node0.pftrace.gz" 2>&1)
	is "$1: Perfetto reads what the trace files hold, the same in both formats" "$?" 0
	diag "$said"
	said=$("$PYTHON" "$TOP/tests/flow/lib/pftrace_decode.py" "$2/node0.pftrace.gz" 2>&1)
	is "$1: every packet decodes, with no unknown field" "$?" 0
	diag "$said"
}

train gpt TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=2 TRAINPROF_HOST_PERIOD=10 \
	TRAINPROF_RECORD=ops,shapes,tensors,host \
	"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 12 --epochs 2 --workers 2
is "the training's exit status" "$status" 0
look gpt "$TMP/gpt"

train lbfgs TRAINPROF_SCHEDULE=wait=1,warmup=0,active=2,repeat=1 "$PYTHON" "$PROGS/train_lbfgs.py"
look lbfgs "$TMP/lbfgs"

"$PYTHON" - "$web_dist" "$TMP/gpt/node0.json.gz" >"$TMP/whole.json" <<-'END'
	import gzip, sys
	sys.stdout.buffer.write(gzip.open(sys.argv[2]).read())
END
# That the check can fail: a trace with an event too many.
awk '!n && /"ph":"X"/ { print; n = 1 } { print }' "$TMP/whole.json" >"$TMP/twice.json"
"$PYTHON" "$TOP/tests/flow/lib/perfetto_check.py" "$web_dist" "$tptdump" "$TMP/gpt" \
	"$TMP/twice.json" >"$TMP/twice.out" 2>&1
is "an event shown twice is found" "$?" 1
done_testing
