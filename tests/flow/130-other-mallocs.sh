#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs with a malloc of their own, linked in or preloaded, before us or after us, and
# programs under a sanitizer: every block goes back to where it came from, and where the hooks
# see nothing, that is said.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
cc="${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread"
$cc -o family "$PROGS/heap_family.c" && $cc -shared -fPIC -o libbump.so "$PROGS/bump_malloc.c" &&
	$cc -o own "$PROGS/heap_family.c" "$PROGS/bump_malloc.c" || no_program

# ends_well WHAT COMMAND...: passed through and profiled; messages of the latter in $said.
ends_well()
{
	local what=$1
	shift
	train passed "$@"
	is "$what, passed through" "$status $(cat passed.out passed.err)" "0 0 wrong"
	rm -rf profiled
	train profiled TRAINPROF_PROGRAM=family TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:50 "$@"
	is "$what, profiled" "$status $(cat profiled.out)" "0 0 wrong"
	said=$(messages_of profiled)
}

off='heap.*another malloc comes before'
ends_well "malloc linked into the program" ./own 100
ln -f own family-own
train profiled TRAINPROF_PROGRAM=family-own TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:50 ./family-own 100
is "malloc linked into the program, profiled by name" "$status" 0
like "it is said that the hooks see nothing" "$(messages_of profiled)" "$off"

preload=$LIB
LIB="$preload $TMP/libbump.so" ends_well "malloc preloaded after us" ./family 100
unlike "its calls are seen" "$said" "$off"
LIB="$TMP/libbump.so $preload" ends_well "malloc preloaded before us" ./family 100
like "its calls are not seen, which is said" "$said" "$off"
# A dynamic linker that allocates while it looks for malloc.
if $cc -shared -fPIC -o libgreedy.so "$PROGS/greedy_dlsym.c" -ldl; then
	LIB="$preload $TMP/libgreedy.so" train greedy ./family 10
	is "malloc is needed to find malloc" "$status $(cat greedy.out greedy.err)" \
		"0 0 wrong
1 kept, 0 wrong"
fi

# A memory profiler's mmap comes before everybody's: its code is not run on our threads, which have files of
# their own, nor is our memory counted as the program's.
if $cc -shared -fPIC -o libspy.so "$PROGS/map_spy.c" && $cc -o maps "$PROGS/heap_maps.c"; then
	rm -rf profiled
	LIB="$TMP/libspy.so $preload" train profiled TRAINPROF_PROGRAM=maps TRAINPROF_SCHEDULE=always \
		TRAINPROF_STEP=clock:50 MAP_SPY="$TMP/spied" ./maps
	is "mmap preloaded before us: it is told of the program's" "$status $(sed 's/.* of/of/' spied)" "0 of some"
	is "... and not of our threads'" "$(cat spied)" "0 of some"
fi

# Not position independent: the address of malloc is a jump inside the program.
echo 'void *malloc(unsigned long); void *which_malloc(void) { return (void *)malloc; }' >which.c
if $cc -no-pie -fno-pie -o family-fixed "$PROGS/heap_family.c" which.c; then
	ln -f family-fixed family
	ends_well "program at a fixed address" ./family 100
	unlike "its calls are seen" "$said" "$off"
fi

# glibc's own that checks each block (since 2.34 a library beside it, before it a variable alone).
debug=$(ldconfig -p | sed -n 's,.*libc_malloc_debug\.so.*=> ,,p' | head -1)
LIB="$preload $debug" ends_well "glibc's malloc with checks" MALLOC_CHECK_=3 ./family 100 common

# Real ones, where installed: each must do with us what it does alone. Of mimalloc 2.0.9 alone a thread in some
# 140,000 crashes where a hundred end at once, in what it does at their ends: one at a time.
for name in jemalloc tcmalloc tcmalloc_minimal mimalloc; do
	found=$(ldconfig -p | sed -n "s,.*lib$name\\.so.*=> ,,p" | head -1)
	[ -n "$found" ] || continue
	threads=$([ "$name" = mimalloc ] && echo 1 || echo 100)
	bare alone "LD_PRELOAD=$found" ./family "$threads" common
	alone=$status
	for order in "$preload $found" "$found $preload"; do
		LIB="$order" train passed ./family "$threads" common
		is "$name, passed through" "$status $(sort -u passed.out)" "$alone $(sort -u alone.out)"
		rm -rf profiled
		LIB="$order" train profiled TRAINPROF_PROGRAM=family TRAINPROF_SCHEDULE=always \
			TRAINPROF_STEP=clock:50 ./family "$threads" common
		is "$name, profiled" "$status $(sort -u profiled.out)" "$alone $(sort -u alone.out)"
	done
done

# Not "library first": the sanitizer of the address kind refuses any preload otherwise.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0:allocator_may_return_null=1
export TSAN_OPTIONS=allocator_may_return_null=1
for san in address thread; do
	if $cc -fsanitize=$san -o "family-$san" "$PROGS/heap_family.c" 2>/dev/null &&
		bare bare "./family-$san" 20 && grep -q wrong bare.out; then
		wanted="$status $(tail -1 bare.out)"
		train passed "./family-$san" 20
		is "$san sanitizer, passed through" "$status $(tail -1 passed.out)" "$wanted"
		rm -rf profiled
		train profiled "TRAINPROF_PROGRAM=family-$san" TRAINPROF_SCHEDULE=always \
			TRAINPROF_STEP=clock:50 "./family-$san" 20
		is "$san sanitizer, profiled" "$status $(tail -1 profiled.out)" "$wanted"
		like "$san sanitizer: it is said that nothing is counted" "$(messages_of profiled)" \
			'heap.*sanitizer'
	else
		skip "$san sanitizer" "it does not build or run this program here"
	fi
done
done_testing
