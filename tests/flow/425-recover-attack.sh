#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# --recover by root, and a run of root's, in a folder of another user, who changes what its names are
# just when they are used: nothing outside the folder is created, changed, opened or removed.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/attack.sh"
need_attacker
cc=${CC:-cc}
cd "$TMP" || exit 1
"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -o swapper "$PROGS/swapper.c" || skip_all "no C compiler"
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_BUFFER=2M
mkdir rings

# A run that was killed: a trace in the making, a ledger, a ring with steps that are not in it.
TRAINPROF_DIR=$TMP/killed TRAINPROF_PROGRAM=sleep TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:5 \
	TRAINPROF_RECORD=host LD_PRELOAD=$LIB sleep 100 &
kill_recording $! killed
ring=$(basename "$(ls killed/*.ring)")
cp -L "killed/$ring" ring
cp -a killed whole
rm "whole/$ring"
cp ring "whole/$ring"

# The same, without anybody who interferes.
cp -a whole quiet
fuse quiet --recover --quiet -o /dev/null quiet
is "the killed run can be recovered" "$status $(cd quiet && ls -1 | tr '\n' ' ')" "0 rank0.0.tpt rank0.steps "

# What lies outside, with the names that the attacker will lead to.
state()
{
	(cd outside && ls -lA --time-style=full-iso . && cat ./* | md5sum)
}

n_idle=0

# attack FROM WHAT COMMAND...: once, while COMMAND works in attacker/run, at first a copy of FROM.
# Counts in $harm whether anything happened outside, in $n_idle whether the attacker was not at work.
attack()
{
	local from=$1 what=$2
	shift 2
	rm -rf outside told
	mkdir outside
	cp quiet/rank0.steps whole/rank0.0.tpt.part outside
	cp ring "outside/$ring"
	cp quiet/rank0.0.tpt outside/rank7.tpt
	state >before
	touch -a -d 2001-01-01 outside/*
	mkdir attacker
	cp -a "$from" attacker/run
	chown -R 65534:65534 attacker
	# Root's links, which may lead to anything, stay root's.
	[ ! -L attacker/run/rank7.tpt ] || chown -h 0:0 attacker/run/rank7.tpt
	mkfifo told
	"${as_nobody[@]}" ./swapper "$TMP/attacker/run" "$TMP/outside" "$what" >told &
	swapper=$!
	read -r _ <told || n_idle=$((n_idle + 1))
	"$@"
	kill $swapper
	wait $swapper 2>/dev/null
	# What was read has another time.
	find outside -type f -newerat 2002-01-01 >after
	state >>after
	diff before after >>harm.txt || harm=$((harm + 1))
	rm -rf attacker
}

for what in ledger part folder; do
	harm=0
	for ((i = 0; i < ${ROUNDS:-15}; i++)); do
		attack whole "$what" fuse attack --recover --quiet -o /dev/null attacker/run
	done
	is "the $what changes under it: nothing outside is touched" "$harm" 0
done

merge_often()
{
	local i
	for ((i = 0; i < 10; i++)); do
		"$MERGE" --quiet -v overview attacker/run >/dev/null 2>merge.err
		merge_status=$?
		grep -q "rank7.tpt.*another user" merge.err && n_refused=$((n_refused + 1))
	done
}

# A link of root's is asked whose it is, and what is followed is another one by then.
harm=0
n_refused=0
cp -a quiet leading
ln -s "$TMP/quiet/rank0.0.tpt" leading/rank7.tpt
for ((i = 0; i < ${ROUNDS:-15}; i++)); do
	attack leading link merge_often
done
is "root's link changes places with another user's: that one's is not followed" "$harm" 0
is "... and merges came to their end" "$merge_status" 0
ok "... and met the other one, too" test "$n_refused" -gt 0

# Also while the library writes there.
harm=0
mkdir empty
for what in part folder; do
	attack empty "$what" train runs "TRAINPROF_DIR=$TMP/attacker/run" TRAINPROF_PROGRAM=sleep \
		TRAINPROF_SCHEDULE=wait=0,warmup=0,active=20,repeat=0 TRAINPROF_STEP=clock:20 \
		TRAINPROF_RECORD=host sleep 4
	is "the program runs on" "$status" 0
done
is "names change under a run: nothing outside is touched" "$harm" 0
is "the attacker was at work each time" "$n_idle" 0

# A link of one user to a file of another: not even opened.
mkdir -p linked
cp whole/rank0.steps whole/rank0.0.tpt.part linked
chown -R 65534:65534 linked
touch -a -d 2001-01-01 ring
"${as_nobody[@]}" ln -s "$TMP/ring" "linked/$ring"
fuse linked --recover --quiet -o /dev/null linked
ok "another's ring is not removed" test -e ring
is "nor opened" "$(find ring -newerat 2002-01-01)" ""
like "and it is said" "$(cat linked.out linked.err)" "link to a file of another user"
fuse live --live linked
is "--live opens it neither" "$status $(find ring -newerat 2002-01-01)" "0 "

# Nor is it written to.
"${as_nobody[@]}" ln -s "$TMP/ring" linked/lines.jsonl
md5sum ring >before
fuse lines --step-lines linked/lines.jsonl linked
is "--step-lines does not append to what another's link leads to" "$status $(md5sum ring)" "1 $(cat before)"
like "... and says so" "$(cat lines.err)" "lines.jsonl': a link to a file of another user"
done_testing
