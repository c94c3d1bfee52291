#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Calls of nn.Modules in the real Perfetto: as many slices of each as -v module counts calls, as long
# as it says, each inside of the module that called it; those of the backward pass on a track of
# their own.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_perfetto
check=$TOP/tests/flow/lib/perfetto_modules.py

train gpt TRAINPROF_SCHEDULE=wait=2,warmup=1,active=3 TRAINPROF_RECORD=ops,tensors,modules,pystacks \
	"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 8 --epochs 1 --workers 0
is "the training's exit status" "$status" 0
fuse gpt -q -f chrome,perfetto "$TMP/gpt"
is "merge" "$status" 0
"$MERGE" -q -v module --top 0 -f jsonl "$TMP/gpt" >"$TMP/rows.jsonl"
said=$("$PYTHON" "$check" "$web_dist" "$TMP/rows.jsonl" "$TMP/gpt/node0.json.gz" \
	"$TMP/gpt/node0.pftrace.gz" 2>&1)
is "slices of modules are what the view says, in both formats" "$? $said" "0 "

# That the check can fail: a call more than there was.
sed 's/"name":"head","depth":2,"calls":3/"name":"head","depth":2,"calls":4/' "$TMP/rows.jsonl" \
	>"$TMP/more.jsonl"
said=$("$PYTHON" "$check" "$web_dist" "$TMP/more.jsonl" "$TMP/gpt/node0.pftrace.gz" 2>&1)
is "a call that is not there is missed" "$?" 1

# One step as text shows the same tree.
text=$("$MERGE" -q -v trace "$TMP/gpt")
like "-v trace has the modules" "$text" '^ *\+.*s    GPT'
like "... the backward pass in one line" "$text" '^ *\+.*s    backward: [0-9]+$'
like "... and the line that asked for it" "$text" 'Optimizer\.step.*  progs/train_gpt.py:[0-9]+$'
done_testing
