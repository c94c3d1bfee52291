#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Floating-point operations by operator, module and step are those that torch.utils.flop_counter counts
# of the same steps, on eleven models.

lib=$(cd "$(dirname "$0")/lib" && pwd)
. "$lib/lib.sh"
cd "$TMP" || exit 1
need_torch

N=3
export TRAINPROF_STEP=optimizer TRAINPROF_SCHEDULE=wait=2,warmup=1,active=$N,repeat=1,per=run
for model in all convolutions; do
	train "$model" TRAINPROF_RECORD=ops,shapes,tensors,modules,pystacks \
		"$PYTHON" "$PROGS/flops.py" "$model" "$TMP/$model.json"
	is "$model: the training ends well" "$status" 0
	fuse "$model.rows" -q -f jsonl -v operator,module --top 0 -o - "$model"
	is "$model: operations of each operator, and of all modules, are torch's" \
		"$("$PYTHON" "$lib/flops_compare.py" "$TMP/$model.json" "$model.rows.out" $N)" same
done

fuse whole -v overview convolutions
step=$("$PYTHON" -c 'import json, sys; print("%.3g" % (sum(json.load(open(sys.argv[1])).values()) / 1e6))' \
	"$TMP/convolutions.json")
like "the overview says how many a step are" "$(cat whole.out)" "compute +$step MFLOP a step, .*FLOP/s$"
TRAINPROF_PEAK=1T fuse peak -v overview convolutions
like "... and what part of a peak" "$(cat peak.out)" 'compute .*, <?[0-9.]+ % of 1 TFLOP/s$'
TRAINPROF_PEAK=fast fuse bad -v overview convolutions
like "a peak that is none is said" "$(cat bad.out)" "TRAINPROF_PEAK: 'fast' is not a number of operations a second"

# A peak that the job said is known to the merge; without a backward pass a convolution is not.
cat >infer.py <<'END'
import torch
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.LazyLinear(2))
first = torch.randn(2, 3, 8, 8)
with torch.no_grad():
    for _ in range(8):
        net(first)
END
train infer TRAINPROF_RECORD=ops,shapes,tensors TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:10 \
	TRAINPROF_PEAK=2T TRAINPROF_PROGRAM=infer "$PYTHON" infer.py
is "an inference ends well" "$status" 0
fuse infer.rows -q -f jsonl -v operator --top 0 -o - infer
is "operations of a convolution without a backward pass are not known" \
	"$(grep '"aten::convolution"' infer.rows.out | grep -c '"flops":[0-9]')" 0

# Without shapes nothing is claimed.
train plain TRAINPROF_RECORD=ops,tensors "$PYTHON" "$PROGS/flops.py" mlp "$TMP/mlp.json"
fuse plain -v overview,operator plain
unlike "without shapes none are claimed" "$(cat plain.out)" 'FLOP'

done_testing
