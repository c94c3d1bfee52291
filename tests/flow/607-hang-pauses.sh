#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trainings that pause are not taken for hung: an evaluation, a checkpoint, a compilation, a stopped
# process, a rank that others wait for. One that loops is; and one that goes on says so.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/hangs.sh"
need_torch
cd "$TMP" || exit 1

begin pause pause
begin loop loop
begin healthy healthy
begin stopped healthy
begin_two wait "$(free_port)"
await stopped/rank0.steps .
kill -STOP "${pid[stopped]}"
sleep 8
kill -CONT "${pid[stopped]}"

await pause.err "$told"
touch pause.there
wait "${pid[pause]}"
is "a hang that ends leaves the program as it was" "$?" 0
like "and says so" "$(cat pause.err)" 'steps continue, [0-9]+ s after they stopped$'
like "also in the file" "$(cat pause/*.hang)" '^state: over$'
says loop "it computes, and where" 'computes in add_up \(hangs.py:[0-9]+\)$'
for name in healthy stopped wait-0 wait-1; do
	wait "${pid[$name]}"
	is "$name: ends well" "$?" 0
	is "$name: nothing is said" "$(cat "$name.err")" ""
done
is "no report is left of those that paused" "$(find healthy stopped wait -name '*.hang*')" ""
kill -KILL "${pid[@]}" 2>/dev/null

done_testing
