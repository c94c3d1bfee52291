#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# NCCL's profiler plugin, by a fake libnccl that opens it as the real one does: each version of the
# interface; what was issued in windows is in the traces and nothing else, from all communicators,
# from the proxies' threads, for other processes; the mask is 0 outside of windows; another
# plugin keeps its place.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
user=$O/tests/progs/nccl_user
dump=$O/tests/progs/tptdump
[ -x "$user" ] || skip_all "no '$user': make fakes"

# nccl NAME SCHEDULE [VARIABLE=VALUE...] -- [ARGUMENTS]
nccl()
{
	local name=$1 schedule=$2 set=()
	shift 2
	while [ "$1" != -- ]; do
		set+=("$1")
		shift
	done
	shift
	train "$name" "TRAINPROF_SCHEDULE=$schedule" TRAINPROF_PROGRAM=nccl_user \
		TRAINPROF_RECORD=comm,marks "FAKE_NCCL_BOOKS=$TMP/$name.books" "${set[@]}" \
		"$user" "$@"
}

# rows NAME: of all windows, sorted.
rows()
{
	"$dump" "$1"/*.tpt | "$PYTHON" "$TOP/tests/flow/lib/nccl_rows.py" --times | sort
}

# ---- every version: the books agree ----

for version in 1 2 3 4 5 6; do
	nccl "v$version" wait=2,warmup=0,active=2,repeat=1 "FAKE_NCCL_VERSION=$version" --
	is "v$version: the newest that this NCCL knows is taken, and told nothing in the end" \
		"$status $(cat "v$version.out")" "0 plugin $version mask 0"
	sort "v$version.books" > books
	if rows "v$version" > got && [ -s books ] && cmp -s books got; then
		pass "v$version: what was issued in the window is in the trace, and nothing else"
	else
		fail "v$version: what was issued in the window is in the trace, and nothing else" \
			"$(diff books got | head -20)"
	fi
	is "v$version: nothing is lost, late or unknown" \
		"$(for what in no_entry no_room late_ops unknown unfinished comms_refused; do
			last_total "v$version" "nccl.$what"; done)" ""
	is "v$version: work for other processes is told apart" "$(last_total "v$version" nccl.foreign)" 2
done
is "the communicators are in the trace" "$("$dump" v6/*.tpt | grep -c '^COMM')" 22
is "... with their names and sizes" "$("$dump" v6/*.tpt | grep '^COMM	abc001')" \
	"COMM	abc001	0	2	2	6	world"
is "... as far as an old NCCL tells" "$("$dump" v2/*.tpt | grep '^COMM	abc001')" \
	"COMM	abc001	0	-1	-1	2	world"
is "calls that a graph captured are counted, not recorded" "$(last_total v6 nccl.captured)" 1
is "what a graph enqueues is, once a replay" "$(grep -c ' r$' v6.books)" 1

# ---- what is shown ----

# The books as a timeline has them: "collective ncclAllReduce BYTES".
sed -n -e 's/^coll [^ ]* \(Send\|Recv\) [^ ]* \([0-9]*\) .*/collective nccl\1 \2/p' -e t \
	-e 's/^coll [^ ]* \([^ ]*\) [^ ]* \([0-9]*\) .*/collective nccl\1 \2/p' \
	-e 's/^xfer .* \([0-9]*\) [0-9]* \([0-9]*\) [0-9]* send/collective_proxy send to \2 \1/p' \
	-e 's/^xfer .* \([0-9]*\) [0-9]* \([0-9]*\) [0-9]* recv/collective_proxy receive from \2 \1/p' \
	v6.books | sort > shown
fuse chrome -f chrome -o "$TMP/v6.json" "$TMP/v6"
is "the timeline shows them with their bytes" \
	"$("$PYTHON" "$TOP/tests/flow/lib/nccl_shown.py" v6.json | diff shown - | head -5)" ""
if "$PYTHON" -c 'import perfetto' 2>/dev/null; then
	fuse perfetto -f perfetto -o "$TMP/v6.pftrace" "$TMP/v6"
	is "... also in Perfetto's form" \
		"$("$PYTHON" "$TOP/tests/flow/lib/nccl_shown.py" v6.pftrace | diff shown - | head -5)" ""
else
	skip "... also in Perfetto's form" "no Python module perfetto (make setup)"
fi
fuse page -q -f html -o "$TMP/v6.html" "$TMP/v6"
ok "... and in the page's" "$PYTHON" "$TOP/tests/flow/lib/html_lanes.py" v6.html collectives 'ncclAllReduce' n 1
fuse trace -q -v trace "$TMP/v6"
like "... and in the step's tree" "$(cat trace.out)" ' ncclAllReduce'

# ---- windows ----

nccl windows wait=1,warmup=1,active=1,repeat=2 -- 8
sort windows.books > books
is "warm-up: asked for, and thrown away" \
	"$(rows windows | comm -13 books - | wc -l) $(rows windows | grep -c 'coll abc001 AllG') $(
		grep -c 'coll abc001 AllG' books)" "0 2 4"
nccl slow wait=1,warmup=0,active=2,repeat=2 NCCL_USER=slow -- 8
grep -v '^xfer 0' slow.books | sort > books
is "proxies that take longer than the window: all of it belongs to the window" \
	"$(rows slow | grep -v '^xfer 0' | diff books - | head -5)" ""
like "... and ends after it" "$("$dump" slow/*.tpt)" '^EVENT	2[34]	[0-9]+	[0-9]+	1[01]	'
is "off: NCCL is not told of the library" \
	"$(nccl off wait=1,active=1 TRAINPROF_RECORD=marks -- 3; cat off.out)" "plugin 0 mask 0"

# ---- manners ----

nccl other wait=1,active=1 NCCL_PROFILER_PLUGIN=none TRAINPROF_LOG=info -- 3
is "another plugin keeps its place" "$(cat other.out)" "plugin 0 mask 0"
like "... and the trace says so" "$("$dump" other/*.tpt)" 'META	off.nccl='
nccl static wait=1,active=1 NCCL_PROFILER_PLUGIN=STATIC_PLUGIN -- 3
is "the program's own symbols: found there, too" "$(cat static.out)" "plugin 6 mask 0"
nccl abort wait=1,warmup=0,active=9 NCCL_USER=abort,slow -- 3
is "a communicator goes while its proxies work: nothing breaks" "$status $(wc -c < abort.err)" "0 0"
nccl fork wait=1,warmup=0,active=9 NCCL_USER=fork -- 3
is "a child of fork is left alone" "$status $(cat fork.err)" "0 "
env -u LD_PRELOAD NCCL_PROFILER_PLUGIN="$LIB" "$user" 3 > plain.out 2>&1
is "without the preload: a plugin that wants nothing" "$? $(cat plain.out)" "0 plugin 6 mask 0"
nccl burst wait=1,warmup=0,active=1,repeat=1 NCCL_USER=burst,slow,abort -- 3
n_lost=$(last_total burst nccl.no_entry)
if [ "${n_lost:-0}" -gt 0 ]; then
	pass "more than there is room for is counted"
else
	fail "more than there is room for is counted" "nccl.no_entry is '$n_lost'"
fi
fuse health -v health burst
like "... and health says so" "$(cat health.out)" 'operations of NCCL were too many at a time'

done_testing
