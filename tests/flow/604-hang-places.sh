#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# More trainings that hang, after those of 606: in a GPU's kernel, a file's lock, a child of fork, an
# evaluation that one rank makes alone; and two that wait for a rank which was never started, at torch's
# store and in gloo itself.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/hangs.sh"
need_torch
cd "$TMP" || exit 1

begin store missing RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT="$(free_port)"
begin gloo missing RANK=1 WORLD_SIZE=2 INIT="file://$TMP/gloo.store"
begin file file
if "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -pthread -I"$TOP" -o held "$PROGS/held.c" -ldl; then
	mkfifo forbidden.there
	within=(./held kill "$(number_of process_vm_readv)")
	begin forbidden worker
	within=()
fi
begin fork fork
begin_two evaluation "$(free_port)"
if torch_takes_fakes; then
	begin gpu gpu LD_LIBRARY_PATH="$O/tests/fakes" TRAINPROF_SCHEDULE=always
fi

says file "the line, and which file's lock" \
	'stands in hold_lock_of_file \(hangs.py:[0-9]+\), and waits in flock of .*/file.there$'
# Python's module fcntl is a library, or a part of Python.
like "the report has the native code in which it waits" "$(cat file/*.hang)" \
	'^    native code, innermost first: libc[^ ]*\+0x[0-9a-f]+ < [^ ]*(fcntl|python)[^ ]*\+0x[0-9a-f]+ < .*python'
says fork "the line, and that it is a child" \
	'stands in fork_with_lock_held \(hangs.py:[0-9]+\), and waits in wait for a child process$'
says evaluation-0 "two collectives in one place" \
	'rank 0 waits in gloo:all_reduce, number 21 of group 0 .* \(average \(hangs.py:[0-9]+\)\), and rank 1 in gloo:barrier in its place \(evaluate_alone \(hangs.py:[0-9]+\)\)$'
if [ -n "${pid[gpu]:-}" ]; then
	says gpu "the line, the GPU, and what is not done in a stream" \
		'in Gpu.wait_for_kernel \(hangs.py:[0-9]+\).*; GPU 0 is 75 % busy; stream 0 of GPU 0 has 1 piece of work that is not done, void for_ever_kernel'
	fuse gpu.merged -q -v health -f csv -o gpu.csv gpu
	like "the merge says it, too" "$(cat gpu.csv)" 'GPU 0 is 75 % busy; stream 0 of GPU 0 has 1 piece'
else
	skip "a GPU that never ends" "$no_fakes"
fi
if [ -n "${pid[forbidden]:-}" ]; then
	await forbidden.err "$told"
	is "where reading memory is the end, a report is made all the same" "$(grep -c '^trainprof.*\.hang' forbidden.err)" 1
	ok "... and the program goes on" kill -0 "${pid[forbidden]}"
	printf x 1<>forbidden.there
fi
for name in store gloo; do
	await $name.err "$told"
	is "$name: three lines" "$(grep -c '^trainprof' $name.err)" 3
	like "$name: before any step" "$(sed -n 1p $name.err)" 'no step of rank [01] has ended for [0-9.]+ s$'
	like "$name: whom it waits for" "$(sed -n 2p $name.err)" \
		'waits for the others in init_process_group \(join \(hangs.py:[0-9]+\)\); rank [01] of 2 says nothing'
	fuse $name.merged -q -v health -o $name.json $name
	like "$name: the merge says it, too" "$(tr -s " \n" " " <$name.merged.out)" 'rank [01] of 2 says nothing'
done
kill -KILL "${pid[@]}" 2>/dev/null

done_testing
