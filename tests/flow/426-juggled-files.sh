#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# Root merges a run, with --recover, all views and symbols, in a folder of another user, who swaps its files
# for links, FIFOs and devices all the time: nothing outside the folder is opened, created, changed or
# removed, no device is opened, and the merge comes to its end.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/attack.sh"
need_attacker
strace -f -o /dev/null true 2>/dev/null || skip_all "strace is not there, or may not trace"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -o juggler "$PROGS/juggler.c" || skip_all "no C compiler"
mkdir dev
mknod dev/device c 1 5 2>/dev/null && head -c 1 dev/device >/dev/null 2>&1 || skip_all "no devices here"
rounds=${ROUNDS:-40}

# A run that was killed, of a program that lies in the run's folder, with stacks in it.
mkdir killed
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-builtin -pthread -I"$TOP" -o killed/held "$PROGS/held.c" -ldl ||
	no_program
mkdir rings results
TRAINPROF_DIR=$TMP/killed TRAINPROF_PROGRAM=held TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:5 \
	TRAINPROF_RECORD=heap,host TRAINPROF_STACKS=heap,native TRAINPROF_BUFFER=2M \
	TRAINPROF_BUFFER_DIR=$TMP/rings LD_PRELOAD=$LIB \
	killed/held allocate >/dev/null 2>&1 &
kill_recording $! killed
ring=$(basename "$(ls killed/*.ring)")
cp -L "killed/$ring" ring && rm "killed/$ring" && cp ring "killed/$ring"

# The same, without anybody who interferes: what there is to lead to.
mv killed run
cp -a run quiet
fuse quiet --recover -f pprof,html,tpn,chrome -o results -v overview,memory,health quiet
is "the killed run can be recovered" "$status" 0
like "and its code has names" "$(zcat results/*.pb.gz | strings)" allocate

state()
{
	(cd outside && ls -lA --time-style=full-iso . && cat ./*.* | md5sum)
}

stuck=
n_swaps=0
for ((i = 0; i < rounds; i++)); do
	rm -rf outside attacker out begun
	cp -a quiet outside
	cp ring "outside/$ring"
	cp -a run/*.part outside 2>/dev/null
	cp -a dev/device outside
	state >before
	mkdir attacker out
	cp -a run attacker/run
	chown -R 65534:65534 attacker
	mkfifo begun
	"${as_nobody[@]}" ./juggler "$TMP/attacker/run" "$TMP/outside" >begun 2>juggler.err &
	juggler=$!
	read -r _ <begun
	strace -f -y -o calls -e trace=open,openat,openat2,creat \
		timeout -k 5 60 "$MERGE" --recover -f pprof,html,tpn,chrome -o out \
		-v overview,memory,health attacker/run >merge.out 2>merge.err
	status=$?
	kill $juggler
	wait $juggler
	n_swaps=$((n_swaps + $(sed -n 's/ swaps.*//p' juggler.err)))
	[ $status -lt 4 ] || stuck+="round $i: status $status; "
	state >after
	{
		diff before after
		# What an open led to; O_PATH opens nothing.
		grep "= [0-9]*<$TMP/outside/" calls | grep -v O_PATH
		grep -E '= [0-9]+<(/dev/mem|[^>]*/device)[<>]' calls | grep -v O_PATH
	} >>harm.txt
done
[ ! -s harm.txt ] || diag "$(head -20 harm.txt)"
is "$rounds merges beside $n_swaps swaps: nothing outside is opened, created, changed or removed" \
	"$([ -s harm.txt ] && echo harm)" ""
is "... and each comes to an end" "$stuck" ""
ok "... and files were swapped under them" test "$n_swaps" -gt "$rounds"
done_testing
