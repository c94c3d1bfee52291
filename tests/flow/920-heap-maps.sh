#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Mappings that a program makes, cuts, moves and maps over, as the trace has them: each call in
# order, what sort it is; nothing of what the C library or an allocator maps.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
cc="${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread"
$cc -o heap_maps "$PROGS/heap_maps.c" || no_program

# Those of the trace, written as the program does.
mappings()
{
	"$O/tests/progs/tptdump" run/*.tpt | awk -F '\t' '
	$1 == "BAD" { print }
	$1 != "EVENT" || ($2 != 20 && $2 != 21) { next }
	$2 == 21 { print "unmap\t" $9 "\t" $4; next }
	{ name = $7; sub(/^-$/, "-\t", name)
	  sub(/ path=.*memfd:heap_maps.*/, "\tmemfd:heap_maps", name)
	  sub(/ path=.*\/heap_maps$/, "\theap_maps", name)
	  sub(/ path=/, "\t", name)
	  gsub(/[a-z]+=/, "", name)
	  print "map\t" $9 "\t" $4 "\t" name }' | sed 's/	memfdheap_maps/	memfd:heap_maps/'
}

preload=$LIB
for name in glibc jemalloc tcmalloc_minimal; do
	found=
	if [ $name != glibc ]; then
		found=$(ldconfig -p | sed -n "s,.*lib$name\\.so.*=> ,,p" | head -1)
		if [ -z "$found" ]; then
			skip "$name" "it is not installed"
			continue
		fi
	fi
	for stacks in none heap,native; do
		rm -rf run
		LIB="$preload $found" train run TRAINPROF_PROGRAM=heap_ TRAINPROF_SCHEDULE=always \
			TRAINPROF_RECORD=heap TRAINPROF_LOG=quiet TRAINPROF_STACKS=$stacks ./heap_maps
		is "$name, stacks $stacks: the program is as without us" "$status $(cat run.err)" "0 "
		is "$name, stacks $stacks: each mapping, and no other" "$(mappings)" "$(cat run.out)"
	done
done
done_testing
