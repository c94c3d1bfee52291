#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Memory at ranges, as MemProfiler has it: RSS at the very call against what the program itself reads there, a snapshot
# of PyTorch's for each start and end, reports of a sharded model for each call against the view of modules, --depth.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/hangs.sh"
need_torch
cd "$TMP" || exit 1

# near RUN: prints "samples ADDED": how many calls had a sample at both ends at once, and whether what they added is
# what the program read.
near()
{
	"$MERGE" -q -f jsonl --top 0 -v memory-at --at training_step "$1" >rows
	"$PYTHON" - rows said.json <<'EOT'
import json, sys
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["table"] == "memory_at"]
said = json.load(open(sys.argv[2]))
first = len(said) - len(rows) // 2
near, good = 0, 0
for start, end in zip(rows[::2], rows[1::2]):
    if max(abs(row["age_ns"] if row["age_ns"] is not None else 1 << 40) for row in (start, end)) > 1000000:
        continue
    before, after = said[first + start["iter_idx"] - 1]
    near += 1
    # The kernel counts pages of a thread in lots of 64.
    good += max(abs(start["rss_bytes"] - before), abs(end["rss_bytes"] - after)) < 1 << 19
print("samples" if near else "none", near == good)
EOT
}

# A busy machine may not get to it in time: then nothing is shown by this run.
for _ in 1 2 3; do
	rm -rf run
	env LD_PRELOAD="$LIB" TRAINPROF_DIR=run TRAINPROF_SCHEDULE=wait=2,active=10,repeat=1 \
		TRAINPROF_MEMORY_AT=training_step "$PYTHON" "$PROGS/ranges_rss.py" said.json >run.out 2>run.err
	is "the program ends well, and says nothing" "$? $(cat run.out run.err)" "0 "
	[ "$(near run)" = "none True" ] || break
done
is "RSS at the very start and end of a range" "$(near run)" "samples True"

# A window of one step: what its one call had is what the view of modules has.
env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT="$(free_port)" LD_PRELOAD="$LIB" \
	TRAINPROF_DIR=sharded TRAINPROF_RECORD=categories,modules,host TRAINPROF_SCHEDULE=wait=2,active=1,repeat=1 \
	"$PYTHON" "$PROGS/categories.py" gpt adamw fsdp "$TMP/tracker.json" >sharded.out 2>sharded.err
is "a sharded model" "$?" 0
"$MERGE" -q -f memprofiler --at training_step --depth 3 -o dumps sharded
is "a report of its call" "$(cd dumps && echo *.log)" "fsdp_mem_rank_0_training_step_1.log"
"$MERGE" -q -f jsonl --top 0 --depth 3 -v module sharded >modules
is "... bytes of modules as in their view, down to the same depth" "$("$PYTHON" - dumps/*.log modules <<'EOT'
import json, sys
STATES = {"Before Pre-Forward": ("forward", "entry"), "Peak Forward": ("forward", "peak"),
          "After Post-Forward": ("forward", "exit"), "Before Pre-Backward": ("backward", "entry"),
          "Peak Backward": ("backward", "peak"), "After Post-Backward": ("backward", "exit")}
WORDS = {"Sharded Param": "sharded_parameter", "Activation": "activation", "OptState": "optimizer_state",
         "Sharded Grad": "sharded_gradient", "Temp": "temporary", "Total": ""}
log, where = {}, None
for line in open(sys.argv[1], encoding="utf-8"):
    line = line.rstrip("\n")
    if line.startswith("Module:  "):
        module = line[9:]
    elif line in STATES:
        where = (module, *STATES[line])
        log[where] = {}
    elif line.startswith("\t") and where:
        word, value, unit = line[1:].rsplit(" ", 2)
        log[where][word[:-1]] = value
rows = {(row["module"], row["pass"], row["moment"]): row
        for row in map(json.loads, open(sys.argv[2], encoding="utf-8")) if row["table"] == "module_memory"}
equal = all(values.get(word, "0.00") == "%.2f" % (rows[at][(field + "_" if field else "") + "bytes"] / (1 << 20))
            for at, values in log.items() for word, field in WORDS.items())
print(len(log) > 20, set(log) == set(rows), equal, sorted({row["depth"] for row in rows.values()}))
EOT
)" "True True True ['1', '2', '3']"
like "... and its peak" "$(head -12 dumps/*.log | tr '\n' ' ')" \
	'^Iteration 1 training_step Peak FSDP memory stats: -+ Device: all .Sharded Param: 3\.[0-9]+ MiB .*Total: [0-9.]+ MiB'
"$MERGE" -q -f memprofiler --at training_step -o shallow sharded
is "down to two without --depth" "$(grep -c '^Module:  [^.]*\.[^.]*\.' shallow/*.log)" 0

# The live blocks of a snapshot are the tensors of the range's start or end.
"$MERGE" -q -f memviz --at training_step -o snapshots sharded
"$MERGE" -q -f jsonl --top 0 -v memory-at --at training_step sharded >rows
is "a snapshot for each start and end" "$("$PYTHON" - rows <<'EOT'
import json, os, pickle, sys
from torch.cuda import _memory_viz
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["table"] == "memory_at"]
for row in rows:
    name = f"snapshots/cuda_alloc_rank_{row['key']}.pickle"
    with open(name, "rb") as file:
        snapshot = pickle.load(file)
    live = sum(block["size"] for segment in snapshot["segments"] for block in segment["blocks"]
               if block["state"] == "active_allocated")
    last = max(event["time_us"] for trace in snapshot["device_traces"] for event in trace)
    print(row["key"], abs(live - row["tensor_bytes"]) < 1 << 16, last <= row["when_ns"] / 1000,
          len(_memory_viz.segsum(snapshot)) > 0)
EOT
)" "0.training_step.1.start True True True
0.training_step.1.end True True True"
is "... beside the whole" "$(ls snapshots | wc -l)" 3

for words in "--depth 2 -v overview" "--depth 0 -v module" "--depth x -v module"; do
	# shellcheck disable=SC2086
	"$MERGE" $words sharded >none.out 2>none.err
	is "'$words' is refused" "$?" 2
done
like "... and why" "$(cat none.err)" "'x' is not a number from 1 for '--depth'"

done_testing
