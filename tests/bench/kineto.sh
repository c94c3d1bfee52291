#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kineto.sh - reading torch.profiler's JSON: megabytes a second and memory, beside Python and HTA
#
# usage: kineto.sh   (with O, MERGE, PYTHON, TMP; EVENTS=400000; TRAINPROF_READERS: a python with
# HolisticTraceAnalysis; TRAINPROF_TRACES: a folder with real traces)
#
# The text is the JSON of a generated training, then the largest real trace there is, as a plain
# file and compressed. What is timed is all that the merge does with it without a view over events:
# read, make a trace of it, index that; then views. The same work by others, in turns: Python's
# json.load, which is only the beginning of what HTA does; and HTA's own loading of one rank, with
# and without the time that importing it takes. CPU time: the machine may be busy. Goals: 150 MB/s
# a core, a twentieth of HTA's time and memory.

set -eu
folder=$TMP/kineto
mkdir -p "$folder"
real=
if [ -n "${TRAINPROF_TRACES:-}" ]; then
	real=$(find -L "$TRAINPROF_TRACES" -name '*.json.gz' -size +1M -exec ls -S {} + | head -n 1)
fi
"$O/tests/bench/gen_traces" "$folder/made" 1 "${EVENTS:-400000}" 2
"$MERGE" -q -f chrome -o "$folder/made.json" "$folder/made"
[ -z "$real" ] || gzip -dc "$real" >"$folder/real.json"
cat >"$folder/load_hta.py" <<'EOT'
import logging
import sys

logging.disable(logging.CRITICAL)
from hta.common.trace import Trace  # noqa: E402

if len(sys.argv) > 1:
    trace = Trace(trace_files={0: sys.argv[1]}, trace_dir="")
    trace.parse_traces(use_multiprocessing=False)
EOT
for text in "$folder"/*.json; do
	gzip -1 -k "$text"
	"$PYTHON" - "$MERGE" "$text" "${TRAINPROF_READERS:-}" "$folder/load_hta.py" <<'EOT'
import os, statistics, subprocess, sys, time

merge, text, readers, load_hta = sys.argv[1:]
size = os.path.getsize(text) / 1e6
load = "import json, sys; json.load(open(sys.argv[1]))"
commands = [("json.load", [sys.executable, "-c", load, text])]
if readers and not subprocess.run([readers, load_hta], capture_output=True).returncode:
    commands += [("HTA's import", [readers, load_hta]), ("HTA", [readers, load_hta, text + ".gz"])]
else:
    print("no HTA beside it: TRAINPROF_READERS names no python that has it")
commands += [("plain", [merge, "-q", "-v", "health", text]),
             ("gzip", [merge, "-q", "-v", "health", text + ".gz"]),
             ("overview", [merge, "-q", "-v", "overview", text]),
             ("operator", [merge, "-q", "-v", "operator", text])]
figures = {name: [] for name, _ in commands}
for _ in range(5):
    for name, command in commands:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit("%s failed" % name)
        wall = time.perf_counter() - begin
        figures[name].append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, wall))
print("%s: %.0f MB of JSON, medians of 5 [least-greatest]" % (os.path.basename(text), size))
middle = {name: [statistics.median(column) for column in zip(*rows)]
          for name, rows in figures.items()}
for name, rows in figures.items():
    cpu, memory, wall = middle[name]
    speeds = sorted(size / row[0] for row in rows)
    print("%-12s %6.0f MB/s of CPU [%.0f-%.0f], %6.0f MB/s, %6.0f MiB" % (
        name, size / cpu, speeds[0], speeds[-1], size / wall, memory))


def beside(name, of, cost=0.0):
    ratios = sorted((theirs[0] - cost) / ours[0]
                    for theirs, ours in zip(figures[name], figures[of]))
    print("%s takes %.1f [%.1f-%.1f] times the time of %s and %.0f times the memory" % (
        name + (" without its import" if cost else ""), statistics.median(ratios), ratios[0],
        ratios[-1], of, middle[name][1] / middle[of][1]))


beside("json.load", "plain")
if "HTA" in figures:
    beside("HTA", "gzip")
    beside("HTA", "gzip", middle["HTA's import"][0])
EOT
done
rm -rf "$folder"
