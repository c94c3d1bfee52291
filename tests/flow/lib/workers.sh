# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# workers.sh - runs of which none may hang: what the tests of worker processes source after lib.sh

# Everything that a run started, by its environment: also what lost its parent.
processes_of()
{
	grep -lsz "^WORKERS_TEST_RUN=$TMP/$1$" /proc/[0-9]*/environ | sed 's|/proc/\(.*\)/environ|\1|'
}

# Where the threads of a process stand, as far as the kernel tells.
show_stuck()
{
	local pid=$1 task
	diag "process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
	for task in /proc/"$pid"/task/*; do
		diag "  $(cat "$task/comm" 2>/dev/null): $(grep State "$task/status" 2>/dev/null) in $(cat \
			"$task/wchan" 2>/dev/null), system call $(cat "$task/syscall" 2>/dev/null)"
		diag "$(sed 's/^/    /' "$task/stack" 2>/dev/null)"
	done
}

# limited SECONDS train|bare NAME ...: as those; a run that takes longer is shown and killed, and
# so is what it left behind. Sets hung to "" or to what went wrong.
limited()
{
	local limit=$1 name=$3 how=$2 pid over pids
	shift 3
	hung=
	# shellcheck disable=SC2154 # status is set by train and bare
	("$how" "$name" "WORKERS_TEST_RUN=$TMP/$name" "$@" && echo "$status" >"$TMP/$name.status") &
	pid=$!
	over=$((SECONDS + limit))
	while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$over" ]; do
		sleep 0.05
	done
	if kill -0 "$pid" 2>/dev/null; then
		hung="it did not end in $limit s"
	else
		wait "$pid"
		status=$(cat "$TMP/$name.status")
		# Workers whose parent was killed look for it every five seconds.
		while [ -n "$(processes_of "$name")" ] && [ "$SECONDS" -lt $((over + 60)) ]; do
			sleep 0.2
		done
		[ -z "$(processes_of "$name")" ] || hung="processes are left behind"
	fi
	pids=$(processes_of "$name")
	for pid in $pids; do
		show_stuck "$pid"
	done
	for pid in $pids; do
		kill -KILL "$pid" 2>/dev/null
	done
	[ -z "$hung" ] || wait
}
