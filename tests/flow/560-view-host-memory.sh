#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The view of host memory: what a program of Python is known to keep, hold and throw away stands
# there, on its own lines.

. "$(dirname "$0")/lib/lib.sh"
export TRAINPROF_SCHEDULE=always TRAINPROF_PROGRAM=holds.py DEBUGINFOD_URLS=
rows=$TOP/tests/flow/lib/host_memory_rows.py
cat >"$TMP/holds.py" <<'EOT'
import glob
import mmap
import os
import time

MIB = 1 << 20
kept = []


def keep():
    for _ in range(8):
        kept.append(bytearray(MIB))  # kept here


def hold():
    held = []
    for _ in range(24):
        held.append(bytearray(MIB))  # held here
    return held


def churn():
    for _ in range(1000):
        bytearray(100000)  # thrown away here


keep()
held = hold()
del held
churn()
shared = mmap.mmap(-1, 4 * MIB)
# The recording thread may get no processor for a while: until it has sampled the host.
for _ in range(1000):
    if glob.glob(os.environ["TRAINPROF_DIR"] + "/*.tpt*"):
        break
    time.sleep(0.01)
# Nothing is taken down: what is kept is alive at the end.
os._exit(0)
EOT

# line TEXT: number of the line of the program with that comment
line()
{
	grep -n "# $1" "$TMP/holds.py" | cut -d: -f1
}

export TRAINPROF_RECORD=heap,host TRAINPROF_STACKS=heap
train all "$PYTHON" "$TMP/holds.py"
is "the program ends as always" "$status" 0
is "and says nothing" "$(cat "$TMP/all.out")" ''
fuse all.rows -q -v memory -f jsonl --top 0 "$TMP/all"
is "rows" "$status" 0
# TABLE FIELD: what the row of this code has.
of()
{
	"$PYTHON" "$rows" "$TMP/all.rows.out" "$@"
}
ok "the peak is what is kept and held" of between host_memory process '' peak_bytes 33554432 36000000
ok "held at the peak, on its line" of between host_peak code ":$(line 'held here') hold" \
	peak_bytes 25165824 25300000
ok "not at the end" of between host_peak code ":$(line 'held here') hold" end_bytes 0 4096
ok "kept to the end" of between host_peak code ":$(line 'kept here') keep" \
	end_bytes 8388608 8500000
ok "and so in the table of the end" of between host_end code ":$(line 'kept here') keep" \
	end_blocks 8 8
ok "thrown away at once" of between host_temporary code ":$(line 'thrown away') churn" \
	temporary 900 3100
ok "the code that asked" of between host_modules module python peak_bytes 33554432 36000000
ok "what the program mapped itself" of between host_mappings kind shared most_bytes \
	4194304 4194304
ok "sizes" of between host_sizes least_bytes 1048576 allocations 32 40
ok "resident memory beside it" of between host_counted counter rss most_bytes 33554432 4294967296

fuse all.text -q -v memory "$TMP/all"
text=$(cat "$TMP/all.text.out")
like "text: the peak" "$text" 'most at a time +3[2-4]\.[0-9] MiB in [0-9,]+ blocks'
like "who held it" "$text" '24\.[01] MiB +7[0-9]\.[0-9] % .*[ /]holds\.py:[0-9]+ hold '
like "the whole stack, the program's line in it" "$(tr -s '\n ' ' ' <"$TMP/all.text.out")" \
	"[ /]holds.py:$(line 'held here') hold "
TERM=dumb "$PYTHON" "$TOP/tests/flow/lib/on_terminal.py" 1000 100 "$MERGE" -q -v memory "$TMP/all" >"$TMP/narrow"
is "on a terminal of 100 columns it fits" "$(sed "s,$TMP,/tmp," "$TMP/narrow" | awk 'length > 110')" ''

# Chosen blocks: a block of 1 MiB is as good as always among them.
train some TRAINPROF_HEAP=sample TRAINPROF_HEAP_SAMPLE=64K "$PYTHON" "$TMP/holds.py"
fuse some.rows -q -v memory -f jsonl --top 0 "$TMP/some"
ok "an estimate of the peak" "$PYTHON" "$rows" "$TMP/some.rows.out" between host_memory process '' \
	peak_bytes 31000000 40000000
fuse some.text -q -v memory "$TMP/some"
like "is called so" "$(cat "$TMP/some.text.out")" 'estimated +sampled every 64.0 KiB'
fuse some.health -q -v health "$TMP/some"
like "and in health" "$(cat "$TMP/some.health.out")" 'sampled +one block .* 64.0 KiB'

done_testing
