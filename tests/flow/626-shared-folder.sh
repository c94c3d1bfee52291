#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A run folder that containers share: what runs in another pid namespace is left alone by OVERWRITE
# and by --recover, whatever its process number means here; its trace is whole in the end.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
unshare --pid --fork true 2>/dev/null || skip_all 'no permission to make a pid namespace'
mkdir rings
mkfifo gate
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_PROGRAM=cat TRAINPROF_STEP=clock:5 \
	TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap TRAINPROF_DIR=$TMP/run

# Runs until the gate is closed.
unshare --pid --fork env LD_PRELOAD="$LIB" cat gate >other.out 2>other.err &
other=$!
exec 3>gate
for ((i = 0; i < 200; i++)); do
	compgen -G 'run/*.part' >/dev/null && break
	sleep 0.05
done
ok "a process in another pid namespace records" compgen -G 'run/*.part'
ring=$(readlink run/*.ring)
ledger=$(stat -c %i run/rank0.steps)

echo | TRAINPROF_OVERWRITE=1 LD_PRELOAD=$LIB cat >here.out 2>here.err
is "another one that overwrites ends as it should" "$? $(cat here.err)" "0 "
is "the ledger is the same" "$(stat -c %i run/rank0.steps)" "$ledger"
ok "the other trace is still there" compgen -G 'run/rank0.0.tpt.part'
is "this one has its number in its names" "$(find run -name 'rank0.0.pid*.tpt' | wc -l)" 1
fuse live --recover run
is "--recover leaves it alone" "$status $(test -e "$ring" && echo kept)" "0 kept"

exec 3>&-
wait $other
is "it ends in order" "$? $(cat other.err)" "0 "
is "no ring is left" "$(ls rings)" ""
is "its ledger says so" "$(tail -n 1 run/rank0.steps)" '#end'
fuse merged --strict run
is "both are whole" "$status $(cat merged.err)" "0 "
ok "there are two processes" test "$(find run -name '*.tpt' | wc -l)" = 2

echo | TRAINPROF_OVERWRITE=1 LD_PRELOAD=$LIB cat >here.out 2>here.err
is "when it is dead its files are replaced" "$? $(cat here.err) $(find run -name '*.tpt')" \
	"0  run/rank0.0.tpt"
done_testing
