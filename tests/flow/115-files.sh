#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Our files in a program that knows nothing of them: it closes our descriptors and has its own
# files there, FIFOs lie under our names, the ring is cut, it wants what only one thread may have.

. "$(dirname "$0")/lib/lib.sh"
need_tptdump
cc=${CC:-cc}
cd "$TMP" || exit 1
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_BUFFER=8M
for prog in fd_thief odd_habits; do
	"$cc" -std=gnu11 -D_GNU_SOURCE -O2 -pthread -o "$prog" "$PROGS/$prog.c" -ldl || skip_all "no C compiler"
done

# ---- the program closes our descriptors, has its files there, and has one as its standard error ----

rounds=30000
[ -z "${LONG:-}" ] || rounds=64354
train thief TRAINPROF_PROGRAM=fd_thief TRAINPROF_SCHEDULE=warmup=0,wait=0,active=1,repeat=0 \
	TRAINPROF_STEP=clock:10 TRAINPROF_RECORD=host,heap TRAINPROF_HOST_PERIOD=10 TRAINPROF_LOG=info \
	TRAINPROF_KEEP=5 ./fd_thief $rounds "$TMP/theirs"
is "$rounds times all closed and files of its own there: none was touched" "$status $(cat thief.out)" \
	"0 $rounds rounds, 0 bad"
is "nothing of ours was closed, nothing is lost" \
	"$(messages_of thief | grep -cE 'closed| [1-9][0-9]* lost|cannot')" 0
is "traces are whole" "$(find thief -name '*part*' | wc -l)" 0
last=$(ls -t thief/*.tpt | head -n 1)
like "what could not be said is in the trace" "$("$DUMP" "$last")" "unsaid=trainprof: window [0-9]+: "
fuse thief_merged --quiet -v health thief
like "and said by the merge" "$(cat thief_merged.out)" "its standard error was gone when it said: window [0-9]+"

train polite TRAINPROF_PROGRAM=odd_habits TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:20 \
	bash -c 'exec 7<>"$0"; ls -l /proc/self/fd >/dev/null; ./odd_habits dlopen' "$TMP/theirs"
is "a program that has descriptors keeps them" "$status" 0

# ---- FIFOs under our names: nobody opens the other end, ever ----

# with_fifo WHAT NAME SETTINGS...: a run of a second with a FIFO of that name in its folder. In time?
with_fifo()
{
	local what=$1 name=$2 begin=$SECONDS
	shift 2
	mkdir -p fifo
	mkfifo "fifo/$name"
	train fifo TRAINPROF_PROGRAM=sleep TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:20 \
		TRAINPROF_RECORD=host "$@" timeout -k 1 20 sleep 1
	is "$what is a FIFO: the program ends as it would" "$status $((SECONDS - begin > 10))" "0 0"
}

mkfifo config
bare config timeout -k 1 10 env LD_PRELOAD="$LIB" TRAINPROF_CONFIG="$TMP/config" /bin/true
is "TRAINPROF_CONFIG is a FIFO: /bin/true ends" "$status" 0
bare config_named timeout -k 1 20 env LD_PRELOAD="$LIB" TRAINPROF_CONFIG="$TMP/config" \
	TRAINPROF_DIR="$TMP/config_named" TRAINPROF_PROGRAM=sleep TRAINPROF_SCHEDULE=always sleep 0.1
like "and one that is profiled says so" "$(messages_of config_named)" "config.*not a regular file"

with_fifo "the ledger" rank0.steps
like "it says what is the matter" "$(messages_of fifo)" "rank0.steps' stays: not a regular file"
is "and is recorded under another name" "$(ls fifo/*.tpt | wc -l)" 1
rm -r fifo
with_fifo "a ring, OVERWRITE=1," x.ring TRAINPROF_OVERWRITE=1
ok "it is recorded" test -s fifo/rank0.0.tpt
rm -r fifo
with_fifo "the ledger, OVERWRITE=1," rank0.steps TRAINPROF_OVERWRITE=1
is "it is recorded, too" "$(ls fifo/*.tpt | wc -l)" 1
rm -r fifo
with_fifo "a proposal" trigger.0 TRAINPROF_TRIGGER=signal:USR2,steps=3
ok "with a proposal it is recorded" test -s fifo/rank0.0.tpt
rm -r fifo
with_fifo "a trace in the making" rank0.0.tpt.part
ok "it is recorded in its place" test -s fifo/rank0.0.tpt
is "no message" "$(messages_of fifo)" ""
rm -r fifo

# ---- a user namespace ----

bare namespace ./odd_habits namespace
train own_namespace TRAINPROF_PROGRAM=odd_habits TRAINPROF_SCHEDULE=always TRAINPROF_STEP=clock:20 \
	./odd_habits namespace
is "a program with one thread may have a user namespace, as without us" \
	"$status $(cat own_namespace.out)" "0 $(cat namespace.out)"
like "it is said that recording stops" "$(messages_of own_namespace)" "recording stops"
ok "what was recorded is whole" test -s own_namespace/rank0.0.tpt
is "no ring is left" "$(ls rings)" ""
done_testing
