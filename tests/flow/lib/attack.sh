# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# attack.sh - for tests in which another user attacks root in a folder that he may write to

# need_attacker: "${as_nobody[@]}" COMMAND runs as another user, who may enter $TMP (a new one, if a folder above
# it is closed to him, as /root is).
need_attacker()
{
	[ "$(id -u)" = 0 ] || skip_all "only root can be attacked by another user"
	as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	"${as_nobody[@]}" true 2>/dev/null || skip_all "setpriv does not work here"
	chmod 711 "$TMP"
	"${as_nobody[@]}" test -d "$TMP/." && return
	TMP=$(mktemp -d /tmp/trainprof-test.XXXXXX)
	trap 'rm -rf "$TMP"' EXIT
	chmod 711 "$TMP"
}

# kill_recording PID FOLDER: SIGKILL, once the process has recorded ten steps into FOLDER.
kill_recording()
{
	local i
	for ((i = 0; i < 300; i++)); do
		[ "$(cat "$2/rank0.steps" 2>/dev/null | wc -l)" -lt 10 ] || break
		sleep 0.1
	done
	kill -9 "$1"
	wait "$1" 2>/dev/null
}
