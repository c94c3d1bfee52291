#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 3600
# long
#
# Trainings beside which the process does what few do: descriptors, standard streams and its folder go, limits
# come, threads fork and start programs, children enter a sandbox. With all that can be recorded, with all
# stacks, they print what they print without us; and each run can be merged.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1
mkdir rings
export TRAINPROF_BUFFER_DIR=$TMP/rings TRAINPROF_SCHEDULE=wait=1,warmup=1,active=3,repeat=0 TRAINPROF_HOST_PERIOD=10 \
	TRAINPROF_RECORD=ops,shapes,tensors,heap,host,pystacks,modules,samples TRAINPROF_STACKS=heap,native,python

# alike NAME HABIT
alike()
{
	rm -rf rings/* bare run here
	mkdir bare here
	(cd bare && exec timeout 600 "$PYTHON" "$PROGS/rare_python.py" "$2" >../bare.out 2>../bare.err)
	wanted="$? $(cat bare.out bare.err)"
	TRAINPROF_DIR=$TMP/run LD_PRELOAD=$LIB sh -c 'cd here && exec timeout 600 "$@" >../run.out 2>../run.err' sh \
		"$PYTHON" "$PROGS/rare_python.py" "$2"
	is "$1: as without us" "$? $(cat run.out) $(grep -v '^trainprof: ' run.err)" "${wanted%"$(cat bare.err)"} $(cat bare.err)"
	fuse merged run
	is "$1: merged" "$status" 0
}

for habit in fork-in-threads sandbox forkserver subprocess stdio folder limits; do
	alike "$habit" "$habit"
done
for i in 1 2 3 4; do
	alike "descriptors, training $i" descriptors
done
done_testing
