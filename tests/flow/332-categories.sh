#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# RECORD=categories: what tensors are for, against torch's own tools, in the same run
. "$(dirname "$0")/lib/lib.sh"

need_torch
need_module torch.distributed._tools.mem_tracker "PyTorch 2.5 or newer"
compare=$TOP/tests/flow/lib/compare_categories.py
window=("TRAINPROF_RECORD=categories,modules,pystacks" "TRAINPROF_SCHEDULE=wait=2,warmup=0,active=1,repeat=1")

train plain "${window[@]}" "$PYTHON" "$PROGS/categories.py" gpt adamw plain "$TMP/said.json"
is "a training goes as it does without us" "$status" 0
"$MERGE" -q --top 0 -f jsonl -v memory "$TMP/plain" >"$TMP/plain.jsonl"
shown "bytes by category at the peak: MemTracker's and the memory timeline's" \
	"$PYTHON" "$compare" "$TMP/said.json" "$TMP/plain.jsonl"
like "... the optimizer was looked at once" "$("$MERGE" -q -v memory "$TMP/plain")" \
	"^Optimizers and models examined: 1; tensors named by them: [0-9]+, in"
like "... names of parameters come from the model" "$(cat "$TMP/plain.jsonl")" \
	'"table":"tensor_blocks".*"category":"parameter".*"tensor":"blocks.0.mlp.0.weight"'
like "... the curve has every category" "$(grep tensor_curve "$TMP/plain.jsonl")" \
	'"parameter_bytes":[1-9].*"optimizer_state_bytes":[1-9].*"activation_bytes":[1-9]'
like "... who held it" "$("$MERGE" -q -v memory "$TMP/plain")" "activations +aten::linear"

# Module by module, in the same run.
"$MERGE" -q --top 0 -f jsonl -v module "$TMP/plain" >"$TMP/modules.jsonl"
shown "memory of each module at entry, peak and exit: MemTracker's" \
	"$PYTHON" "$TOP/tests/flow/lib/compare_modules.py" "$TMP/said.json" "$TMP/modules.jsonl"
like "... and in text" "$("$MERGE" -q -v module "$TMP/plain")" \
	$'What fills memory at the peak of each module\n.*GPT +forward +[0-9.]+ MiB'
like "who held it: module and line" "$("$MERGE" -q -v memory "$TMP/plain")" \
	'activations +aten::linear +GPT.blocks.\*.mlp.0 +progs/categories.py:[0-9]+'

# Without the word nothing is asked, and what is older has no name.
train without TRAINPROF_RECORD=ops,tensors TRAINPROF_SCHEDULE=wait=2,warmup=0,active=1,repeat=1 \
	"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 4 --epochs 1 --workers 0
said=$("$MERGE" -q -v memory "$TMP/without")
like "without 'categories' older blocks are unknown" "$said" "^unknown +[0-9.]+ [KM]iB"
unlike "... and no parameter is known" "$said" "^parameters"
like "... it says how to know" "$said" "TRAINPROF_RECORD=categories"

done_testing
