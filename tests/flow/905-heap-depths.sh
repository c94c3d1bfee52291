#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# TRAINPROF_HEAP: what each depth counts and records; bytes alive and their peak against what
# the program knows; what a sample estimates; and that what cannot be seen is said to be off.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
cc="${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread"
$cc -o heap_live "$PROGS/heap_live.c" && $cc -o heap_truth "$PROGS/heap_truth.c" ||
	no_program

# run DEPTH COMMAND...: its dump in $TMP/dump.
run()
{
	local depth=$1
	shift
	rm -rf run
	train run TRAINPROF_PROGRAM=heap_ TRAINPROF_SCHEDULE=always TRAINPROF_HEAP="$depth" \
		${record:+TRAINPROF_RECORD=$record} ${sample:+TRAINPROF_HEAP_SAMPLE=$sample} "$@"
	"$O/tests/progs/tptdump" run/*.tpt >dump
}

total()
{
	sed -n "s/^END	heap\\.$1=//p" dump
}

n_events()
{
	grep -c "^EVENT	\\(18\\|19\\)	" dump
}

# ---- what each depth does ----

record=heap run off ./heap_live 100 0
is "off: the program is as without us" "$status" 0
is "off: nothing is recorded" "$(n_events)" 0
ok "off: calls are counted" [ "$(total allocs)" -gt 5000 ]
is "off: bytes alive are not" "$(total live)" ""
record='' run all ./heap_live 100 0
is "all, but nothing of it asked for: nothing is recorded" "$(n_events)" 0
ok "bytes alive are counted" [ "$(total live)" -gt 0 ]
like "they are a curve" "$(cat dump)" '^EVENT	7	.*	heap live\?B\?memory	'
record=heap run counters ./heap_live 100 0
is "counters: nothing is recorded" "$(n_events)" 0
like "counters: a curve of the peak" "$(cat dump)" '^EVENT	7	.*	heap peak\?B\?memory	'
record=heap run all ./heap_live 100 0
ok "all: every block is" [ "$(n_events)" -gt 10000 ]

# ---- bytes alive: against the program's own sum, less what it holds without any blocks ----

preload=$LIB
for name in glibc jemalloc tcmalloc_minimal; do
	found=
	if [ $name != glibc ]; then
		found=$(ldconfig -p | sed -n "s,.*lib$name\\.so.*=> ,,p" | head -1)
		if [ -z "$found" ]; then
			skip "$name: bytes alive" "it is not installed"
			continue
		fi
	fi
	LIB="$preload $found" record=heap run counters ./heap_live 0 0
	base=$(total live)
	if [ -n "$found" ]; then
		like "$name: that C++'s operators pass by is said" "$(messages_of run)" 'heap\.new'
	else
		unlike "glibc: nothing passes by" "$(cat run.err)" 'heap'
	fi
	LIB="$preload $found" record=heap run counters ./heap_live 20000 600
	read -r bytes most <run.out
	is "$name: bytes alive at the end" $(($(total live) - base)) "$bytes"
	off=$(($(total peak) - base - most))
	# What it held at first, and freed before the peak, is within the error, too.
	ok "$name: their peak ($off off, error $(total peak_error))" \
		[ ${off#-} -le "$(total peak_error)" ]
done

# ---- a sample ----

record=heap run all ./heap_truth log 2 1 20000
all=$(awk -F '\t' '$1 == "EVENT" && $2 == 18 { n++; bytes += $4 } END { print n, bytes }' dump)
record=heap sample=20K run sample ./heap_truth log 2 1 20000
is "sample: the program is as without us" "$status $(cat run.out)" "0 0 wrong"
is "sample: its mean is told" "$(total sample_bytes)" 20480
is "sample: there was room for all" "$(total sample_no_room)" 0
# Threads of this program do the same in each run; 6 standard errors.
ok "sample: what it estimates is what there was" awk -F '\t' -v all="$all" '
$1 == "EVENT" && $2 == 18 {
	n++
	p = 1 - exp(-($4 ? $4 : 1) / 20480)
	count += 1 / p; var_count += (1 - p) / p / p
	bytes += $4 / p; var_bytes += (1 - p) * ($4 / p) ^ 2
	if (int($5) % 4 < 2) bad++
}
END {
	split(all, was, " ")
	off_count = (count - was[1]) / sqrt(var_count)
	off_bytes = (bytes - was[2]) / sqrt(var_bytes)
	print n " of " was[1] " blocks stand for " count ", " off_count " errors off; bytes " \
		bytes " of " was[2] ", " off_bytes " errors off; " bad + 0 " not marked"
	exit bad || n * 3 > was[1] || off_count ^ 2 > 36 || off_bytes ^ 2 > 36
}' dump
# A free is recorded when its block was.
ok "sample: each free has its block" awk -F '\t' '
$1 != "EVENT" || $2 != 18 && $2 != 19 { next }
{ print $3 "\t" $2 "\t" $9 | "sort -n -s -k 1,1 >pairs" }
END {
	close("sort -n -s -k 1,1 >pairs")
	while ((getline < "pairs") > 0)
		if ($2 == 18) live[$3]++
		else if (live[$3]) { live[$3]--; n++ }
		else unknown++
	print n " frees, " unknown + 0 " without a block"
	exit n < 100 || unknown > 5
}' dump

# ---- Python, over its own allocator and over malloc's ----

cat >heap_lists.py <<-'EOT'
import sys
keep = [bytes(i % 3000) for i in range(20000)]
print(len([str(i) for i in range(100000)]), len(keep))
EOT
for allocator in default malloc; do
	record=heap run all TRAINPROF_STACKS=heap PYTHONMALLOC=$allocator "$PYTHON" heap_lists.py
	is "Python over $allocator: as without us" "$status $(cat run.out)" "0 100000 20000"
	ok "Python over $allocator: its blocks are recorded" [ "$(n_events)" -gt 10000 ]
done
done_testing
