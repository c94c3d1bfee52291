#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long
#
# Twenty healthy programs that pause for longer than TRAINPROF_HANG, each in its own way, are not taken for hung.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/hangs.sh"
need_torch
cd "$TMP" || exit 1

# ends_well NAME...
ends_well()
{
	local name
	for name; do
		wait "${pid[$name]}"
		is "$name: ends well" "$?" 0
		is "$name: nothing is said" "$(cat "$name.err")" ""
		is "$name: no report is left" "$(find "${name%-*}" -name '*.hang*')" ""
	done
}

begin stopped evaluate
alone=(evaluate save compile_much pull run_child multiply join_thread build_index compress pickle_much copy_file
	collect back_off load_slowly load_with_worker)
for ((i = 0; i < ${#alone[@]}; i += 3)); do
	for name in "${alone[@]:i:3}"; do
		begin "$name" "$name"
	done
	# Thirty seconds in all, beside the others.
	if [ $i = 0 ]; then
		await stopped/rank0.steps .
		kill -STOP "${pid[stopped]}"
		stopped_at=$SECONDS
	fi
	ends_well "${alone[@]:i:3}"
	if [ -n "${stopped_at:-}" ] && [ $((SECONDS - stopped_at)) -ge 30 ]; then
		kill -CONT "${pid[stopped]}"
		stopped_at=
	fi
done
ends_well stopped
for pause in evaluate save; do
	PAUSE=$pause begin_two wait "$(free_port)"
	ends_well wait-0 wait-1
	rm -rf wait
done

done_testing
