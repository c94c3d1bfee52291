#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# -f memviz: snapshots that torch.cuda._memory_viz takes, with the memory that the view tells
. "$(dirname "$0")/lib/lib.sh"

need_torch
train run TRAINPROF_RECORD=categories,modules,pystacks TRAINPROF_SCHEDULE=wait=2,warmup=0,active=2,repeat=1 \
	"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 5 --epochs 1 --workers 0
ok "a snapshot is written" "$MERGE" -q -f memviz -o "$TMP/viz" "$TMP/run"
file=$(ls "$TMP"/viz/*.pickle)
is "a file for the rank" "${file##*/}" rank0.pickle
"$MERGE" -q --top 0 -f jsonl -v memory "$TMP/run" >"$TMP/rows.jsonl"
shown "it is whole, and the view's" \
	"$PYTHON" "$TOP/tests/flow/lib/memviz_check.py" "$file" "$TMP/rows.jsonl"

# The commands of torch's own. Its flame graphs are drawn by a script from the network: by cat.
mkdir -p "$TMP/home/.cache"
printf '#!/bin/sh\nexec cat\n' >"$TMP/home/.cache/flamegraph.pl"
chmod +x "$TMP/home/.cache/flamegraph.pl"
cat >"$TMP/viz.py" <<'E2'
import runpy, sys, torch.cuda._memory_viz as viz
source, folder = sys.argv[1:]
for command in ("stats", "trace", "segments", "memory", "trace_plot", "segment_plot"):
    sys.argv = ["_memory_viz.py", command, source]
    if command not in ("stats", "trace"):
        sys.argv += ["-o", f"{folder}/{command}.txt"]
    print("---", command)
    runpy.run_path(viz.__file__, run_name="__main__")
E2
HOME=$TMP/home "$PYTHON" "$TMP/viz.py" "$file" "$TMP" >"$TMP/viz.out" 2>"$TMP/viz.err"
is "torch.cuda._memory_viz takes it" "$?" 0
alive=$(sed -n 's/.* \([0-9]*\) at the end$/\1/p' <<<"$said")
is "... its statistics are of what is alive at the end" \
	"$(sed -n 's/^total_allocated: //p' "$TMP/viz.out")" \
	"$("$PYTHON" -c "import torch.cuda._memory_viz as v; print(v.Bytes($alive))")"
is "... its flame graph, too" \
	"$(awk '/;active_allocated;/ {n += $NF} END {print n}' "$TMP/memory.txt")" "$alive"
like "... and plots" "$(head -c 300 "$TMP/trace_plot.txt")" "MemoryViz.js"

done_testing
