#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Node files: what comes out of one is, byte for byte, what comes out of the files that were fused
# into it, whatever these have gone through: sixteen ranks, of which one is damaged, one cut,
# one given twice, one of a later version and one no trace at all; and a training that was killed.

. "$(dirname "$0")/lib/lib.sh"
gen=$O/tests/bench/gen_traces
views="overview operator kernel memory comm module steps health"

# same NAME ARGUMENTS..: the same from $TMP/NAME/files and from $TMP/NAME/node.
same()
{
	local name=$1 what
	shift
	for what in files node; do
		(cd "$TMP/$name/$what" && "$MERGE" "$@" .) >"$TMP/$what.out" 2>"$TMP/$what.err"
		echo "exit status $?" >>"$TMP/$what.out"
		# A ring of its own can be freed, one in a node file takes nothing.
		sed -i "/--recover turns/d" "$TMP/$what.err"
	done
	ok "$name: $*: the same" cmp "$TMP/files.out" "$TMP/node.out"
	ok "$name: $*: the same is said" cmp "$TMP/files.err" "$TMP/node.err"
}

# all_the_same NAME: every view, rows, formats.
all_the_same()
{
	local name=$1 view what
	for view in $views; do
		same "$name" -q -v "$view" --top 0
	done
	same "$name" -q -f csv -v overview,operator,steps
	same "$name" -q --ranks 3,5 -v overview,operator
	same "$name" -q --steps 2-3 -v operator,steps
	same "$name" --strict -v health
	for what in chrome perfetto; do
		for from in files node; do
			(cd "$TMP/$name/$from" && "$MERGE" -q -f "$what" -o "$TMP/$from.$what" .) 2>"$TMP/err"
		done
		ok "$name: -f $what: the same" cmp "$TMP/files.$what" "$TMP/node.$what"
		rm -f "$TMP/files.$what" "$TMP/node.$what"
	done
}

# ---- sixteen ranks, as they come back from a bad night ----

mkdir -p "$TMP/ranks/node"
"$gen" "$TMP/ranks/files" 16 6000 3 >/dev/null
cd "$TMP/ranks/files" || exit 1
mv rank15.0.tpt "$TMP/whole.tpt"	# missing: its ledger is left
cp rank7.0.tpt again.tpt		# a copy under another name
size=$(stat -c %s rank3.0.tpt)
printf 'XXXX' | dd of=rank3.0.tpt bs=1 seek=$((size / 2)) conv=notrunc status=none
truncate -s $(($(stat -c %s rank4.0.tpt) * 2 / 3)) rank4.0.tpt
head -c 3000 /dev/urandom >rank16.0.tpt
# Of a later minor version: the head's number and its checksum are not what is tested here.
"$PYTHON" - rank5.0.tpt <<-'END'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	data[64 + 56] ^= 1
	open("rank17.0.tpt", "wb").write(data)
END
fuse pack -f tpn -o "$TMP/ranks/node/node0.tpn" .
cd "$TMP" || exit 1
is "sixteen ranks: packed" "$status" 0
like "sixteen ranks: what was made is said" "$(cat pack.out)" 'wrote .*node0.tpn'
is "sixteen ranks: nothing but the node file is left" "$(ls ranks/node)" "node0.tpn"
all_the_same ranks
like "the copy is told" "$(cat files.err)$(cd ranks/files && "$MERGE" -v health . 2>&1)" \
	"window 0 is in both './again.tpt' and './rank7.0.tpt'"
like "the damaged one is told" "$(cd ranks/node && "$MERGE" -v health,operator . 2>&1)" \
	"'./rank3.0.tpt': offset [0-9]+: .*damaged"
n_all=$("$MERGE" -q -f csv -v operator --top 0 ranks/files 2>/dev/null | wc -l)

# ---- both, twice, the second level ----

cp -r ranks/files both
cp ranks/node/node0.tpn both/node0.tpn
cp ranks/node/node0.tpn both/node1.tpn
fuse both -v health both
like "beside its own files: told in one line" "$(cat both.err)" \
	"'both/node0.tpn': [0-9]+ of the files in it are given by themselves too"
(cd both && "$MERGE" -q -v operator --top 0 .) >both.out 2>/dev/null
(cd ranks/files && "$MERGE" -q -v operator --top 0 .) >files.out 2>/dev/null
ok "beside its own files: each event is counted once" cmp both.out files.out
is "beside its own files: no row is new" \
	"$("$MERGE" -q -f csv -v operator --top 0 both 2>/dev/null | wc -l)" "$n_all"

mkdir -p levels/files levels/node
"$gen" levels/files 8 3000 4 >/dev/null
(cd levels/files && "$MERGE" -q -f tpn --ranks 0-3 -o ../low.tpn . && \
	"$MERGE" -q -f tpn --ranks 4-7 -o ../more.tpn .)
fuse second -q -f tpn -o levels/node/all.tpn levels/low.tpn levels/more.tpn
is "node files into a node file" "$status" 0
all_the_same levels

# ---- damage to the node file itself ----

"$PYTHON" - levels/node/all.tpn <<-'END'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	open("cut.tpn", "wb").write(data[:len(data) * 3 // 4])
	data[-20] ^= 1
	open("no-index.tpn", "wb").write(data)
	open("text.tpn", "wb").write(bytes(data).replace(b"\r\n", b"\n"))
END
(cd levels/node && "$MERGE" -q -v operator --top 0 all.tpn) >files.out
mkdir lame && mv no-index.tpn lame/all.tpn
(cd lame && "$MERGE" -q -v operator --top 0 all.tpn) >node.out 2>node.err
ok "without an index: all is found" cmp files.out node.out
like "without an index: it is said" "$(cat node.err)" 'the index of the node file is damaged'
fuse cut -v health cut.tpn
is "a cut one is read" "$status" 0
like "a cut one: what is missing is told by rank" "$(cat cut.err)" \
	'rank [0-9]: .*blocks are missing'
fuse text -v health text.tpn
is "one that a text-mode transfer changed is refused" "$status" 1
like "and why" "$(cat text.err)" 'text-mode transfer'
fuse steps -f tpn --steps 3 levels/files
is "--steps does not apply to whole files" "$status" 2
fuse full -q -f tpn -o /dev/full levels/files
is "a full disk: exit status" "$status" 1
is "a full disk: nothing is left" "$(compgen -G "levels/node/*.tmp-*")" ""

# ---- a training that was killed: its ring goes with it ----

if "$PYTHON" -c 'import torch' 2>/dev/null; then
	mkdir -p dead/files dead/node
	TRAINPROF_DIR=$TMP/dead/files TRAINPROF_RECORD=ops,shapes,tensors TRAINPROF_BUFFER=8M \
		TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2000,repeat=0 LD_PRELOAD=$LIB \
		"$PYTHON" "$PROGS/train_gpt.py" --size tiny --steps 4000 --workers 0 >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 1200; i++)); do
		! compgen -G "$TMP/dead/files/*.part" >/dev/null || break
		sleep 0.1
	done
	sleep 0.7
	fuse live -f tpn -o live.tpn dead/files
	is "a training that still runs is packed" "$status" 0
	like "a training that still runs: what is not in it is said" "$(cat live.err)" \
		'what is in no file of it yet is not in the node file'
	kill -KILL $pid
	wait $pid 2>/dev/null
	(cd dead/files && "$MERGE" -q -f tpn -o ../node/node0.tpn .)
	all_the_same dead
	like "the dead one's open spans are there" \
		"$(cd dead/node && "$MERGE" -v health . 2>&1)" 'did not exit cleanly'
	"$MERGE" -q --recover dead/files >/dev/null
	cp dead/node/node0.tpn dead/files
	(cd dead/files && "$MERGE" -q -v operator --top 0 .) >both.out 2>/dev/null
	rm dead/files/node0.tpn
	(cd dead/files && "$MERGE" -q -v operator --top 0 .) >files.out 2>/dev/null
	ok "recovered since: each event is counted once" cmp both.out files.out
else
	skip "a training that was killed" "no torch"
fi
done_testing
