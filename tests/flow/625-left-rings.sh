#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Killed, and the run folder is renamed before the next run: the ring stays until somebody takes what
# is in it, and is named at once; every step is there in the end. The same where the run folder is
# out of sight, and where only the ring is left.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O2 -pthread -o ways_out "$PROGS/ways_out.c" ||
	skip_all "no C compiler"
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_PROGRAM=ways_out TRAINPROF_STEP=clock:5 \
	TRAINPROF_SCHEDULE=wait=2,warmup=1,active=4,repeat=0

# rows_of LEDGER...: how many steps there are.
rows_of()
{
	grep -ch '^s' "$@" /dev/null | awk -F: '{ n += $NF } END { print n + 0 }'
}

# killed NAME: a run that dies with steps in its ring.
killed()
{
	train "$1" ./ways_out kill 700
	ring=$(readlink "$1"/*.ring)
	ok "$1: killed, its ring is there" test -f "$ring"
}

killed first
mv first moved
train second ./ways_out return 20
ok "the ring stays when its run folder was renamed" test -f "$ring"
is "one line says so" "$(messages_of second | grep -c 'a dead process left the buffer file')" 1
like "it says what is in it, and how to take it out" "$(messages_of second)" \
	"'$ring' with [1-9][0-9]* steps and .*'$TMP/first' does not .*trainprof-merge --recover $ring'"
left=$(messages_of second | sed -n 's/.* with \([0-9]*\) steps and.*/\1/p')
had=$(rows_of moved/*.steps)
fuse recover --recover moved
is "recovered" "$status" 0
is "every step that was in the ring alone is in the ledger now" "$(rows_of moved/*.steps)" \
	$((had + left))
ok "its memory is free" test ! -e "$ring"
train third ./ways_out return 20
is "nothing more is said" "$(messages_of third)" ""

# Two whose run folders nobody here can see, as when containers share /dev/shm.
killed other1
rm -rf other1
killed other2
rm -rf other2
train fourth ./ways_out return 20
like "of several, how much they hold" "$(messages_of fourth)" \
	'; 2 such files hold [1-9][0-9]* MB there$'
is "in one line" "$(messages_of fourth | wc -l)" 1
like "the newest is named" "$(messages_of fourth)" "the buffer file '$ring'"
train fifth LOCAL_RANK=1 RANK=1 WORLD_SIZE=2 ./ways_out return 20
is "the other ranks of a node do not say it again" "$(messages_of fifth)" ""
train sixth ./ways_out return 20
is "nor does a later run" "$(messages_of sixth)" ""
left=$(messages_of fourth | sed -n 's/.* with \([0-9]*\) steps and.*/\1/p')
fuse alone --recover "$ring"
is "the ring alone is enough" "$status" 0
ok "then it is gone" test ! -e "$ring"
is "and its steps are in a ledger beside it" "$(rows_of rings/*.recovered.steps)" "$left"
fuse shown -v health rings/*.recovered.steps
is "which the merge reads" "$status" 0

# A link leads to it: what is in files holds no memory once another run has begun.
killed linked
mb=$(($(stat -c %b "$ring") / 2048))
fuse whole -v steps,trace,health linked
train seventh ./ways_out return 20
is "a ring to which a link leads is there" "$(messages_of seventh)$(readlink linked/*.ring)" "$ring"
ok "... without most of its $mb MB" test "$(($(stat -c %b "$ring") / 2048))" -lt $((mb / 4))
fuse trimmed -v steps,trace,health linked
is "... and with all that the merge reads" "$(cat trimmed.out trimmed.err | grep -v ' and frees ')" \
	"$(cat whole.out whole.err | grep -v ' and frees ')"
like "... which is something" "$(cat whole.err)" 'did not exit cleanly'
done_testing
