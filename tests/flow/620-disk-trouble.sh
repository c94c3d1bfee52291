#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# When the disk fails us, the training does not notice: same standard output and exit status
# as bare, and one line of ours says what happened and what happens now.

. "$(dirname "$0")/lib/lib.sh"
need_torch
schedule=TRAINPROF_SCHEDULE=wait=2,warmup=1,active=4,repeat=0
script=$PROGS/train_and_end.py

bare plain "$PYTHON" "$script" normal --steps 60
is 'bare: exit status' "$status" 0

# same_as_plain NAME: after a run.
same_as_plain()
{
	is "$1: exit status" "$status" 0
	ok "$1: standard output" cmp "$TMP/plain.out" "$TMP/$1.out"
}

# said NAME PATTERN: exactly one kind of complaint, on one line, with the reason.
said()
{
	like "$1: says what happened" "$(messages_of "$1")" "$2"
	ok "$1: says it in at most three lines" test "$(messages_of "$1" | wc -l)" -le 3
	unlike "$1: no other trouble" "$(grep -v '^trainprof: ' "$TMP/$1.err")" 'Traceback|Error|fault'
}

# ---- the run folder goes away in the middle ----
train rmtree "$schedule" "$PYTHON" "$script" "rmtree:$TMP/rmtree" --steps 60 --at 30 --pause 10
same_as_plain rmtree
said rmtree "folder '.*rmtree' was removed: it is created again, the files in it are lost"

# ---- the buffer file is truncated in a window ----
cut_ring()
{
	local ring i

	for ((i = 0; i < 1200; i++)); do
		ring=$(readlink -e "$1"/*.ring) && [ -s "$ring" ] && compgen -G "$1/*.tpt.part" >"$TMP/parts" && break
		sleep 0.05
	done
	chmod u+w "$ring" && truncate -s "$2" "$ring"
}

for bytes in 0 65536 1000001; do
	cut_ring "$TMP/cut-$bytes" "$bytes" &
	# Once where the program has a handler of its own for SIGBUS, too.
	train "cut-$bytes" TRAINPROF_SCHEDULE=always PYTHONFAULTHANDLER="${bytes#0}" "$PYTHON" "$script" normal \
		--steps 60 --at 10 --pause 3
	wait
	same_as_plain "cut-$bytes"
	said "cut-$bytes" "buffer file '.*' was truncated: recording ends, and records that are not in a trace yet are lost"
done

# ---- the run folder cannot be made: its parent is a file ----
: >"$TMP/file"
train parent "$schedule" TRAINPROF_DIR="$TMP/file/run" "$PYTHON" "$script" normal --steps 60
same_as_plain parent
said parent "'.*file/run.*': Not a directory"

# ---- a folder without permission to write; root first gives up its right to ignore that ----
mkdir -p "$TMP/closed"
chmod 555 "$TMP/closed"
obey=()
[ "$(id -u)" -ne 0 ] || obey=(setpriv '--bounding-set=-dac_override,-dac_read_search')
if "${obey[@]}" touch "$TMP/closed/x" 2>/dev/null; then
	skip 'no permission' 'permissions are not obeyed here'
else
	train closed "$schedule" TRAINPROF_DIR="$TMP/closed/run" "${obey[@]}" \
		"$PYTHON" "$script" normal --steps 60
	same_as_plain closed
	said closed "'.*closed/run.*': Permission denied"
fi

# ---- small file systems: mounts of our own, invisible outside ----
if ! unshare -m true 2>/dev/null; then
	skip 'full file system' 'no permission to mount'
	skip 'small /dev/shm' 'no permission to mount'
	done_testing
fi

# mounted NAME MOUNT-POINT SIZE COMMAND...: runs it with a small tmpfs there.
mounted()
{
	local name=$1 point=$2 size=$3
	shift 3
	mkdir -p "$point"
	# shellcheck disable=SC2016
	unshare -m sh -c 'point=$1 size=$2; shift 2
		mount -t tmpfs -o size="$size" tmpfs "$point" || exit 99
		"$@"; status=$?; ls -l "$point" >&3; exit $status' \
		sh "$point" "$size" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err" 3>"$TMP/$name.ls"
	status=$?
}

# The traces' file system holds 300 KB: the first window fits, a later one does not.
mounted full "$TMP/small" 300k env "$schedule" TRAINPROF_DIR="$TMP/small" \
	LD_PRELOAD="$LIB" "$PYTHON" "$script" "fill:$TMP/small/rest" --steps 60 --at 30 --pause 10
same_as_plain full
said full "cannot (open|write) '.*': No space left on device"

# The ring's file system holds 64 KB, as in many containers: the run folder takes it.
mounted shm /dev/shm 64k env -u TRAINPROF_BUFFER_DIR "$schedule" TRAINPROF_DIR="$TMP/shm-run" \
	LD_PRELOAD="$LIB" "$PYTHON" "$script" normal --steps 60
same_as_plain shm
fuse shm-merge -f chrome -o "$TMP/shm.json.gz" -v health "$TMP/shm-run"
is 'small /dev/shm: merge' "$status" 0
spans=$("$PYTHON" "$TOP/tests/flow/lib/chrome_counts.py" "$TMP/shm.json.gz" 'Optimizer.step#')
ok "small /dev/shm: $spans optimizer steps recorded all the same" test "${spans:-0}" -ge 20
unlike 'small /dev/shm: no crash' "$(cat "$TMP/shm.err")" 'SIGBUS|Bus error|Traceback'

# Neither place has room for the ring: no recording, said, and the training goes on.
mounted none /dev/shm 64k env -u TRAINPROF_BUFFER_DIR "$schedule" TRAINPROF_DIR=/dev/shm/run \
	LD_PRELOAD="$LIB" "$PYTHON" "$script" normal --steps 60
same_as_plain none
said none 'No space left on device'
done_testing
