#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# RECORD=modules and pystacks. Calls of nn.Modules are as many as a forward pre-hook and
# torch.profiler count in the same steps, name for name: in a GPT, a CNN, an LSTM, and one with
# shared, recomputed, failing and empty modules. Operators have the Python stack that
# sys._getframe shows. The training computes the same.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump

bare alone "$PYTHON" "$PROGS/train_modules.py"
train modules TRAINPROF_SCHEDULE=wait=3,warmup=0,active=3,repeat=1 \
	TRAINPROF_RECORD=modules,pystacks,tensors,heap TRAINPROF_STACKS=heap \
	"$PYTHON" "$PROGS/train_modules.py" --reference "$TMP/reference.json"
is "the losses are the same to the last bit" "$status $(cat "$TMP/modules.out")" \
	"0 $(cat "$TMP/alone.out")"
is "not a word" "$(messages_of modules)" ""
"$MERGE" -q -v module --top 0 -f jsonl "$TMP/modules" >"$TMP/rows" 2>"$TMP/err"
ok "calls are as many as torch counts, by name and class" \
	"$PYTHON" "$TOP/tests/flow/lib/module_calls.py" "$TMP/reference.json" "$TMP/rows"
is "nothing is said" "$(cat "$TMP/err")" ""
"$MERGE" -q -v module --top 0 "$TMP/modules" >"$TMP/text"
like "the tree has classes where there is no name, and names" "$(cat "$TMP/text")" \
	$'\nGpt .*\n  symbol .*\n  0 .*\n    norm .*\n    attention .*\n    mlp .*\n      0 '

train stacks TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=pystacks,modules \
	"$PYTHON" "$PROGS/operator_stacks.py" "$TMP/log"
"$DUMP" "$TMP/stacks/rank0.0.tpt" >"$TMP/stacks.tsv"
ok "stacks of 400 operators on two threads are those of sys._getframe" \
	"$PYTHON" "$TOP/tests/flow/lib/operator_stacks.py" "$TMP/log" "$TMP/stacks.tsv"
"$MERGE" -q -v operator --by-stack --top 0 -f jsonl "$TMP/stacks" >"$TMP/rows"
line=$(grep -n 'the only MulBackward0' "$PROGS/operator_stacks.py" | cut -d: -f1)
like "a node of the backward pass has the stack of its forward operator" \
	"$(grep '"operator":"MulBackward0"' "$TMP/rows")" \
	"\"call_stack\":\"[^;]*operator_stacks.py:$line forward;"
done_testing
