#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long: two runs of the compiler
#
# RECORD=modules and pystacks change nothing for torch.compile: as many graphs, no break more, the same
# losses. Of a compiled region the outermost module is seen, once a step.

. "$(dirname "$0")/lib/lib.sh"
need_torch
export TORCHINDUCTOR_CACHE_DIR=$TMP/inductor

counted="import runpy, sys, torch._dynamo.utils as u
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name='__main__')
print('graphs', u.counters['stats']['unique_graphs'], 'breaks', sum(u.counters['graph_break'].values()))"

bare alone "$PYTHON" -c "$counted" "$PROGS/train_compiled.py"
train compiled TRAINPROF_SCHEDULE=wait=2,warmup=0,active=3,repeat=1 \
	TRAINPROF_RECORD=modules,pystacks,tensors "$PYTHON" -c "$counted" "$PROGS/train_compiled.py"
is "the same losses, graphs and breaks" "$status $(cat "$TMP/compiled.out")" \
	"0 $(cat "$TMP/alone.out")"
like "graphs were counted" "$(cat "$TMP/alone.out")" "graphs [1-9][0-9]* breaks [0-9]+"
"$MERGE" -q -v module -f jsonl "$TMP/compiled" >"$TMP/rows"
like "the compiled module is called once a step" \
	"$(grep '"class":"OptimizedModule"' "$TMP/rows")" '"calls":3,'
done_testing
