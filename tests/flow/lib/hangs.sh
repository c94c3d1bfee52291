# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# hangs.sh - trainings of tests/progs/hangs.py in the background, for who looks at them meanwhile

declare -A pid
# lib.sh removes the folder where it made it.
after=$(trap -p EXIT)
end_all()
{
	kill -KILL "${pid[@]}" 2>/dev/null
	[ -z "$after" ] || rm -rf "$TMP"
}
trap end_all EXIT

# What trainings are started by, if anything.
within=()
# begin NAME CASE [VARIABLE=VALUE...]: in the background.
begin()
{
	local name=$1 case=$2
	shift 2
	mkdir -p "$name"
	# Rings of those that are killed lie where they go with the rest.
	env TRAINPROF_DIR="$TMP/${name%-*}" TRAINPROF_BUFFER_DIR="$TMP" TRAINPROF_HANG=3s LD_PRELOAD="$LIB" \
		TRAINPROF_SCHEDULE=wait=1000 "$@" \
		"${within[@]}" "$PYTHON" "$PROGS/hangs.py" "$case" "$TMP/${name%-*}.there" >"$name.out" 2>"$name.err" &
	pid[$name]=$!
}

# begin_two CASE PORT: two ranks.
begin_two()
{
	for rank in 0 1; do
		begin "$1-$rank" "$1" RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank LOCAL_WORLD_SIZE=2 \
			MASTER_ADDR=127.0.0.1 MASTER_PORT="$2"
	done
}

# await FILE PATTERN: until a line is there, within what a busy machine takes.
await()
{
	local i
	for ((i = 0; i < 1200; i++)); do
		! grep -Eq -- "$2" "$1" 2>/dev/null || return 0
		sleep 0.2
	done
	return 1
}

# The last of a report's lines.
told='the stacks of all threads are in'

free_port()
{
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# says NAME WHAT PATTERN: the second of its three lines.
says()
{
	await "$1.err" "$told"
	is "$1: three lines" "$(grep -c '^trainprof' "$1.err")" 3
	like "$1: for how long, and which step" "$(grep -m 1 '^trainprof' "$1.err")" \
		'no step of .* has ended for [0-9.]+ s, step [1-9][0-9]+ is in progress; they took [0-9.]+ m?s$'
	like "$1: $2" "$(grep '^trainprof' "$1.err" | sed -n 2p)" "$3"
}
