#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Host memory is recorded while a program does what breaks recorders: forks a thousand times
# beside threads that allocate, vforks, loads and unloads libraries, throws exceptions, allocates
# in signal handlers. It ends as it does without us, and the books stay whole.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
cc="${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fno-builtin -pthread"
$cc -o heap_ways "$PROGS/heap_ways.c" -ldl &&
	$cc -I"$TOP" -o heap_signal "$PROGS/heap_signal.c" &&
	$cc -shared -fPIC -o libbump.so "$PROGS/bump_malloc.c" || no_program
for i in 1 2 3; do
	cat >plug.c <<-EOT
	#include <stdlib.h>
	static void *held;
	__attribute__((constructor)) static void begin(void) { held = malloc($i * 100); }
	__attribute__((destructor)) static void end(void) { free(held); }
	__attribute__((noinline)) static void *deep(int n)
	{
		volatile char room[$i * 64];
		room[0] = 1;
		return n ? deep(n - 1) : malloc($i * 1000 + room[0]);
	}
	void *tp_use(void) { return deep($i * 3); }
	EOT
	$cc -shared -fPIC -o plug$i.so plug.c
done
settings="TRAINPROF_PROGRAM=heap_ TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap,marks"

# Addresses given out twice, and frees of nothing, in the dump on standard input; a free may stand
# behind the next allocation of its address by a hundred microseconds.
books()
{
	awk -F '\t' '$1 == "BAD" { print; bad++ }
	$1 == "EVENT" && ($2 == 18 || $2 == 19) { print $3 "\t" $2 "\t" $9 > "pairs" }
	END { exit bad != 0 }' &&
		sort -n -s -k 1,1 pairs | awk -F '\t' '
	$2 == 18 { if ($3 in live) { if ($3 in ahead) bad++; ahead[$3] = $1 } else live[$3] = 1; next }
	$3 in ahead { if ($1 - ahead[$3] > 100000) bad++; delete ahead[$3]; next }
	$3 in live { delete live[$3]; next }
	{ unknown++ }
	END { for (a in ahead) bad++
	print NR " events, " bad + 0 " blocks given out twice, " unknown + 0 " unknown frees"
	exit NR < 100 || bad || unknown > 20 }'
}

# goes_well WHAT ARGUMENTS...: with the stacks in $with.
goes_well()
{
	local what=$1 stacks trace
	shift
	for stacks in $with; do
		rm -rf run
		# shellcheck disable=SC2086
		train run $settings "TRAINPROF_STACKS=$stacks" timeout 120 "$@"
		is "$what, stacks $stacks: ends as it should" "$status $(cat run.err)" "0 "
		like "$what, stacks $stacks: does what it should" "$(cat run.out)" "^$wanted$"
		trace=run/rank0.0.tpt
		"$O/tests/progs/tptdump" $trace >dump
		like "$what, stacks $stacks: nothing is dropped" "$(cat dump)" '^END	dropped=0$'
		ok "$what, stacks $stacks: the books are whole" books <dump
	done
}

with=none wanted='1000 of 1000' goes_well "a thousand forks" ./heap_ways fork 1000
with=heap wanted='200 of 200' goes_well "two hundred forks" ./heap_ways fork 200
with='none heap'
wanted='100 of 100' goes_well "vfork and exec" ./heap_ways vfork 100
wanted='600 of 600' goes_well "libraries come and go" ./heap_ways dlopen 600 \
	./plug1.so ./plug2.so ./plug3.so
if ${CXX:-c++} -O2 -pthread -o heap_throw "$PROGS/heap_throw.cc" 2>/dev/null; then
	wanted='8000 of 8000' goes_well "exceptions" ./heap_throw 2000
else
	skip "exceptions" "no C++ compiler"
fi

# Over a malloc that may be used in signal handlers. What the program itself does is recorded to
# the last; what a handler does on top of a hook is counted instead.
preload=$LIB
for stacks in none heap,native; do
	rm -rf run
	# shellcheck disable=SC2086
	LIB="$preload $TMP/libbump.so" train run $settings TRAINPROF_STACKS=$stacks \
		./heap_signal 100000
	read -r n_main n_handler n_marks _ <run.out
	like "signals, stacks $stacks: errno is the program's" "$status $(cat run.out run.err)" \
		'^0 .*errno changed 0 times$'
	"$O/tests/progs/tptdump" run/*.tpt >dump
	is "signals, stacks $stacks: all that the program did" \
		"$(awk -F '\t' '$1 == "EVENT" && $2 == 18 && $4 == 1001 { n++; own[$9] = 1 }
		$1 == "EVENT" && $2 == 19 && own[$9] { freed++; delete own[$9] }
		$1 == "EVENT" && $2 == 8 { marks++ } END { print n, freed, marks }' dump)" \
		"$n_main $n_main ${n_marks%,}"
	# A handler's call is recorded or counted.
	ok "signals, stacks $stacks: all that the handler did, or how often it was not recorded" \
		awk -F '[\t=]' -v wanted=$((n_handler * 2)) '
		$1 == "EVENT" && $2 == 18 && $4 == 2002 { n++; own[$9] = 1 }
		$1 == "EVENT" && $2 == 19 && own[$9] { n++ }
		$1 == "END" && $2 == "heap.nested" { nested = $3 }
		END { print n, nested, wanted; exit n > wanted || n + nested < wanted }' dump
	ok "signals, stacks $stacks: the books are whole" books <dump
done
done_testing
