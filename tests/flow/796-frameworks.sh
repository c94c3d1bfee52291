#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# RECORD=frameworks: what Lightning and the Hugging Face Trainer call on their users' behalf become
# ranges, as often as it is called, and nothing about the training changes. A framework that is
# not as expected is left alone, and said.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_module lightning "make setup-long"
need_module transformers "make setup-long"

# ranges NAME PATTERN: how many such ranges its trace has.
ranges()
{
	"$O/tests/progs/tptdump" "$TMP/$1/rank0.0.tpt" |
		awk -F '\t' -v name="$2" '$1 == "EVENT" && $2 == 2 && index($7, name) == 1' | wc -l
}

# framework NAME [ARGUMENT..]
framework()
{
	local name=$1
	shift
	bare "$name-bare" "$PYTHON" "$PROGS/world_$name.py" "$@"
	train "$name" TRAINPROF_RECORD=ops,frameworks TRAINPROF_SCHEDULE=wait=2,warmup=1,active=4,repeat=1,per=run \
		"$PYTHON" "$PROGS/world_$name.py" "$@"
	is "$name: exit status" "$status" 0
	ok "$name: same losses" cmp "$TMP/$name-bare.out" "$TMP/$name.out"
	is "$name: no message" "$(messages_of "$name")" ""
}

framework lightning
is "a hook of the module, once a step" "$(ranges lightning '[LightningModule]Regression.on_after_backward')" 4
is "a step of the strategy" "$(ranges lightning '[Strategy]SingleDeviceStrategy.training_step')" 4
framework transformers "$TMP/hf"
is "an event of the trainer, once a step" "$(ranges transformers '[Trainer]on_step_end')" 4
is "a callback in it" "$(ranges transformers '[Callback]DefaultFlowCallback.on_step_end')" 4

# A framework of another time: its function takes other arguments.
cat >"$TMP/other.py" <<'PY'
import sys
import types

import torch

handler = types.ModuleType("transformers.trainer_callback")
handler.CallbackHandler = type("CallbackHandler", (), {"call_event": lambda self, what: None})
handler.TrainerCallback = object
before = handler.CallbackHandler.call_event
sys.modules["transformers.trainer_callback"] = handler
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    optimizer.zero_grad()
    model(torch.ones(2, 2)).sum().backward()
    optimizer.step()
print(handler.CallbackHandler.call_event is before)
PY
train other TRAINPROF_RECORD=ops,frameworks "$PYTHON" "$TMP/other.py"
is "what is not as expected is left alone" "$(cat "$TMP/other.out")" True
like "and said" "$(messages_of other)" "'transformers' is not recorded: .* takes other arguments than expected"

done_testing
