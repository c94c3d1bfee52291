#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trainings that hang say so while they do: which line, which rank, which collective, which worker.
# Outside of windows, too.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/hangs.sh"
need_torch
cd "$TMP" || exit 1

mkfifo worker.there
begin_two skip "$(free_port)"
begin_two differ "$(free_port)"
begin worker worker
begin lock lock
begin socket socket
begin child child

says lock "both threads" \
	'stands in take \(hangs.py:[0-9]+\), and waits in futex .*; another thread stands in take \(hangs.py:[0-9]+\)$'
says socket "the line, and whom it waits for" 'stands in receive \(hangs.py:[0-9]+\), and waits in recv of 127.0.0.1:[0-9]+$'
says child "the line, the library, the child" \
	'stands in wait_for_child \(hangs.py:[0-9]+\), within Popen._try_wait \(subprocess.py:[0-9]+\), and waits in wait for a child process$'
says worker "the worker, its line, its file" \
	'waits for its worker [12] \(pid [0-9]+\), which stands in Shards.read_shard \(hangs.py:[0-9]+\), and waits in read of .*/worker.there$'
is "worker: it is the training process that waits" "$(grep '^trainprof' worker.err | grep -o 'process [0-9]*' | sort -u | wc -l)" 1
says skip-0 "the collective, its number and who has not come" \
	'rank 0 waits in gloo:all_reduce, number 21 of group 0 .*, to which rank 1 has not come: it stands in rest \(hangs.py:[0-9]+\), and waits in sleep$'
says differ-0 "two collectives in one place" \
	'rank 0 waits in gloo:all_reduce, number 21 of group 0 .* \(average \(hangs.py:[0-9]+\)\), and rank 1 in gloo:broadcast in its place \(run \(hangs.py:[0-9]+\)\)$'
is "the others leave the word to the lowest rank" "$(cat skip-1.err differ-1.err)" ""

# What the merge says of a run that hangs now.
fuse merged -q -v overview,health -o merged.json skip
is "merged while it hangs" "$status" 0
like "the overview begins with it" "$(sed -n 1,6p merged.out)" 'HANG +no step of rank 0 has ended for'
like "and who has not come" "$(tr -s " \n" " " <merged.out)" 'to which rank 1 has not come: it stands in rest'
like "health has a line for each rank" "$(cat merged.out)" '^ *rank 1 +stuck '
like "the report has stacks" "$(cat skip/rank1.*.hang)" '^    rest \(.*/hangs.py:[0-9]+\)$'
fuse rows -q -v health -f csv -o rows skip
like "rows for programs" "$(cat rows* 2>/dev/null; cat rows.out)" 'rest \(hangs.py'

fuse node -q -f tpn -o skip.tpn skip
fuse from.node -q -v overview,health -o merged.json skip.tpn
like "a node file of it has both reports" "$(cat from.node.out)" '^ *rank 1 +stuck '
like "and says the same" "$(tr -s " \n" " " <from.node.out)" 'to which rank 1 has not come: it stands in rest'

# Workers outlive their rank while they read.
printf x 1<>worker.there
kill -KILL "${pid[@]}" 2>/dev/null

done_testing
