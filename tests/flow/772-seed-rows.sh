#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Rows of what the predecessors let their users set: each by environment or command line, and its result. One run of
# two epochs as a rank of a job, so that each is cheap. Rows that other scripts show: folder and file names, windows
# of epochs, retention, a used folder (770), the same in a real Composer (797), schedules (200, 205), uploads and
# retention after them (758, 759), clocks (720), node files (760), counters (unit host, host_parse), several ranks (700).
#
#   Composer TorchProfiler      template fields; memory_filename; use_gzip; record_shapes, profile_memory, with_stack,
#                               with_flops; saved_traces; profiler state of each batch; global_rank; four tables
#   Composer JSONTraceHandler   process and thread names and sort indices; durations with begin and end
#   MemProfiler                 schedule, keys, RSS and VMS, allocator totals, allocator history, hooks of modules,
#                               saved tensors, a module-wise table
#
# RSS at the very call, snapshots of the allocator for each key and FSDP2's reports: 778.
# Not here, and why: total_wct, sample and token fields are a trainer's own; CUDA's memory_stats need a device.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1

# rank 5 of 8, the second of its node of two
env RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 NODE_RANK=2 LD_PRELOAD="$LIB" TRAINPROF_RUN_NAME=gpt \
	TRAINPROF_DIR="$TMP/{run_name}/r{rank}-l{local_rank}" \
	TRAINPROF_TRACE_NAME='w{world_size}-n{local_world_size}-{node_rank}-e{epoch}-b{batch}-i{batch_in_epoch}-{timestamp}-{host}-{pid}.tpt' \
	TRAINPROF_SCHEDULE=skip_first=1,wait=1,warmup=1,active=3,repeat=1 TRAINPROF_MEMORY_AT=optimizer.step \
	TRAINPROF_RECORD=ops,shapes,tensors,categories,modules,pystacks,marks,host \
	"$PYTHON" "$PROGS/loops.py" plain >run.out 2>run.err
is "the run ends well" "$?" 0
folder=gpt/r5-l1
now=$(date -u +%Y%m)
names=$(find $folder -name '*.tpt' -printf '%f\n' | sort)
is "fields of folder and file: one file of each epoch" "$(grep -cE \
	"^w8-n2-2-e[01]-b(3|9)-i3-${now}[0-9]{2}-[0-9]{6}-$(hostname)-[0-9]+\\.tpt\$" <<<"$names")" 2

# row DESCRIPTION PATTERN ARGUMENTS: what the merge says of the run has a line like that.
row()
{
	local what=$1 pattern=$2
	shift 2
	fuse row -q "$@" $folder
	like "$what" "$(cat row.out row.err)" "$pattern"
}
rows="-f jsonl --top 0 -v"

fuse gzip -q -o a.json.gz $folder
fuse plain -q -o a.json $folder
is "use_gzip: by the name" "$(head -c 2 a.json.gz | od -An -tx1 | tr -d ' ') $(head -c 1 a.json)" "1f8b {"
is "... the same in both" "$(gzip -dc a.json.gz | md5sum)" "$(md5sum <a.json)"
row "record_shapes" '"inputs":"f32\[8\], f32\[4,8\], f32\[8,8\]"' $rows operator --by-shape
row "profile_memory" '"self_bytes":[1-9]' $rows operator
row "with_stack" '"call_stack":"[^"]*loops.py:[0-9]+' $rows operator --by-stack
row "with_flops" '"flops":[1-9]' $rows operator
row "schedule: the state of each batch" '"step":2,"epoch_and_step":"0/2","phase":"warmup"' $rows steps
row "... active, of the second epoch" '"step":9,"epoch_and_step":"1/3","phase":"active"' $rows steps
fuse page -q -f html -o rank5.3.pt.trace.memory.html $folder
like "memory_filename: a page with the memory timeline" "$(tr -d '\n' <rank5.3.pt.trace.memory.html)" 'id="?memory|Memory'
fuse run -q -f run -o run.json $folder
is "saved_traces: time and path of each" "$("$PYTHON" - run.json $names <<'EOT'
import json, sys
text = open(sys.argv[1], encoding="utf-8").read()
json.loads(text)
print(sum(name in text for name in sys.argv[2:]))
EOT
)" 2
"$PYTHON" "$TOP/tests/flow/lib/kineto_synth.py" gpu.json.gz new
is "key_averages: by host time and memory, and with a device four tables" "$(for run in $folder gpu.json.gz; do
	"$MERGE" -q -f jsonl --top 0 -v averages $run | grep -o '"table":"[a-z_]*"' | sort -u | wc -l; done | tr '\n' ' ')" "2 4 "
is "metadata, and begin and end of durations" "$("$PYTHON" - a.json <<'EOT'
import json, sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
meta = {e["name"] for e in events if e["ph"] == "M"}
print(sorted(meta & {"process_name", "thread_name", "process_sort_index", "thread_sort_index", "global_rank"}),
      {e["args"]["value"] for e in events if e["name"] == "global_rank"},
      any(e["ph"] == "X" and e["dur"] > 0 for e in events))
EOT
)" "['global_rank', 'process_name', 'process_sort_index', 'thread_name', 'thread_sort_index'] {5} True"

# MemProfiler: warmup_iters=1 and max_iter=3 are the calls 2 and 3.
"$MERGE" -q $rows memory-at --at optimizer.step --calls 2-3 $folder >at.out
is "keys, schedule, start and end; RSS below VMS; categories add up to all tensors" "$("$PYTHON" - at.out <<'EOT'
import json, sys
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["table"] == "memory_at"]
parts = [key for key in rows[0] if key.endswith("_bytes") and
         key[:3] not in ("rss", "vms", "pss", "ten", "all", "res")]
print([row["key"] for row in rows], all(row["rss_bytes"] is None or 0 < row["rss_bytes"] < row["vms_bytes"] for row in rows),
      all(sum(row[key] for key in parts) == row["tensor_bytes"] for row in rows))
EOT
)" "['5.Optimizer.step#SGD.step.2.start', '5.Optimizer.step#SGD.step.2.end', '5.Optimizer.step#SGD.step.3.start', '5.Optimizer.step#SGD.step.3.end'] True True"
# What the environment named when the run was recorded is what is shown without --at.
"$MERGE" -q $rows memory-at --calls 2-3 $folder >env.out
is "the ranges that TRAINPROF_MEMORY_AT named" "$(cat env.out)" "$(cat at.out)"
row "... and others by --at" '"key":"5.enumerate' $rows memory-at --at enumerate
fuse dump -q -f memprofiler -o memprofiler --calls 2-3 $folder
is "dumps by rank, YAML and pickle" "$(echo memprofiler/*)" \
	"memprofiler/rank_5_memory_stats.pickle memprofiler/rank_5_memory_stats.yaml"
is "... the same in both, and as the view's rows" "$("$PYTHON" - at.out <<'EOT'
import json, pickle, sys
stem = "memprofiler/rank_5_memory_stats."
with open(stem + "pickle", "rb") as file:
    stats = pickle.load(file)
lines = {}
with open(stem + "yaml", encoding="utf-8") as file:
    text = file.read()
for line in text.splitlines():
    name, value = line.rsplit(":", 1)
    if value:
        lines[key][name.strip()] = int(value)
    else:
        key = json.loads(name)
        lines[key] = {}
try:
    import yaml
    assert yaml.safe_load(text) == lines
except ImportError:
    pass
rows = [row for row in map(json.loads, open(sys.argv[1])) if row["table"] == "memory_at"]
wanted = {"rss": "rss_bytes", "vms": "vms_bytes", "pss": "pss_bytes", "rss_diff": "rss_diff_bytes"}
same = all((stats[row["key"]].get(name), stats[row["key"]]["tensor_bytes"], stats[row["key"]]["when_ns"]) ==
           (row[field], row["tensor_bytes"], row["when_ns"]) for row in rows for name, field in wanted.items())
print(stats == lines, list(stats) == [row["key"] for row in rows], same)
EOT
)" "True True True"
fuse none -q -f memprofiler -o none --at nowhere $folder
like "a range that is not there, for a dump" "$(cat none.err)" 'no range like nowhere was recorded'
row "a range that is not there, and what would add some" 'no range like training_step was recorded' -v memory-at --at training_step
row "the options belong to the view" "'--at' needs '-v memory-at'" --at x
row "hooks of modules: entry, peak and exit, forward and backward" '"pass":"forward","moment":"exit"' $rows module
row "saved tensors: activations while a module runs" '"activation_bytes":[1-9]' $rows module
fuse viz -q -f memviz -o viz.pickle $folder
is "allocator history as a snapshot" "$("$PYTHON" -c '
import glob, pickle
print([sorted(pickle.load(open(name, "rb"))) for name in glob.glob("viz.pickle/rank5.pickle")])')" "[['device_traces', 'segments']]"
row "RSS and VMS of steps" '"rss_bytes":[0-9]+,"vms_bytes":[0-9]+' $rows steps

done_testing
