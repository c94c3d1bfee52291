#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a training starts beside its work (shells, compilers, probes, children that end at
# once) leaves nothing behind: no file, no ring, no message; each ends as it would.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1
mkdir rings

# 2,000 processes with LONG=1: each shell is two.
spawns=80
forks=150
[ -z "${LONG:-}" ] || spawns=700
[ -z "${LONG:-}" ] || forks=700
train run TRAINPROF_BUFFER_DIR="$TMP/rings" TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2,repeat=0 \
	TRAINPROF_TRIGGER=signal:USR2 TRAINPROF_RECORD=ops,heap,host \
	"$PYTHON" "$PROGS/helpers.py" "$spawns" "$forks"
is "all end well" "$status $(cat run.out)" "0 $((spawns + forks + 3))"
is "nothing is said" "$(cat run.err)" ""
is "traces and the ledger of the training, and nothing else" \
	"$(find run -mindepth 1 -not -name 'rank0.[0-9].tpt' -not -name 'rank0.[0-9][0-9].tpt')" \
	run/rank0.steps
# Rings would be in /dev/shm, were it not for BUFFER_DIR.
is "no ring is left" "$(ls rings)" ""
fuse merged -v overview,health run
like "one process in the merge" "$(cat merged.out)" 'all good'
unlike "no worker in the merge" "$(cat merged.out)" 'worker'
done_testing
