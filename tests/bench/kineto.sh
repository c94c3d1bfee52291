#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kineto.sh - reading torch.profiler's JSON: megabytes a second and memory, beside Python's
#
# usage: kineto.sh   (with O, MERGE, PYTHON, TMP; EVENTS=400000)
#
# The text is the JSON of a generated training. What is timed is all that the merge does with
# it without a view over events: read, make a trace of it, index that. Goals: 150 MB/s a core,
# 20 times json.loads in time and memory (which is only the beginning of what HTA does).

set -eu
folder=$TMP/kineto
"$O/tests/bench/gen_traces" "$folder" 1 "${EVENTS:-400000}" 2
"$MERGE" -q -f chrome -o "$folder/in.json" "$folder"
gzip -1 -k "$folder/in.json"
"$PYTHON" - "$MERGE" "$folder" <<'EOT'
import json, os, resource, statistics, subprocess, sys, time

merge, folder = sys.argv[1:]
size = os.path.getsize(folder + "/in.json") / 1e6
load = "import json, sys; json.load(open(sys.argv[1]))"
commands = [
    ("json.load", [sys.executable, "-c", load, folder + "/in.json"]),
    ("plain", [merge, "-q", "-v", "health", folder + "/in.json"]),
    ("gzip", [merge, "-q", "-v", "health", folder + "/in.json.gz"]),
]
figures = {name: [] for name, _ in commands}
for _ in range(5):
    for name, command in commands:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        figures[name].append((wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024))
base = [statistics.median(column) for column in zip(*figures["json.load"])]
print("%.0f MB of JSON, medians of 5 [least-greatest]" % size)
for name, rows in figures.items():
    wall, cpu, memory = (statistics.median(column) for column in zip(*rows))
    speeds = sorted(size / row[0] for row in rows)
    print("%-10s %6.0f MB/s [%.0f-%.0f], %6.0f MB/s of CPU, %6.0f MiB; json.load takes %.1f times the "
          "time and %.0f times the memory" % (name, size / wall, speeds[0], speeds[-1], size / cpu,
                                             memory, base[0] / wall, base[2] / memory))
EOT
rm -rf "$folder"
