#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program comes to the same end whatever the library is refused: each system call that it makes,
# limits, /dev/shm; whoever looks on with gdb or strace; and after 300,000 steps, in memory that does
# not grow.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -pthread -I"$TOP" -o held "$PROGS/held.c" -ldl ||
	skip_all "no C compiler"
cp held refuser
export TRAINPROF_PROGRAM=held TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=heap,marks,host \
	TRAINPROF_STEP=clock:5 TRAINPROF_HOST_PERIOD=10
preload="env LD_PRELOAD=$LIB TRAINPROF_DIR=$TMP/run TRAINPROF_OVERWRITE=1"

# same WHAT COMMAND...: in a subshell that has made the world narrower, bare and profiled.
same()
{
	local what=$1 wanted
	shift
	wanted=$("$@" ./held work 2>/dev/null; echo "status $?")
	is "$what" "$("$@" $preload ./held work 2>same.err; echo "status $?")" "$wanted"
}

# ---- system calls that are refused ----
if ! command -v strace >/dev/null || ! strace -f -o calls true 2>/dev/null; then
	skip 'refused system calls' 'strace is not there, or may not trace'
else
	strace -f -o calls $preload ./held work >/dev/null 2>&1
	sed -n 's/^[0-9]* *\([a-z_0-9]*\)(.*/\1/p' calls | sort -u >names
	"$PYTHON" - names <<-'END' >numbers
		import re, subprocess, sys
		text = subprocess.run(["cc", "-E", "-dM", "-"], input="#include <sys/syscall.h>",
		                      capture_output=True, text=True).stdout
		number = dict(re.findall(r"#define __NR_(\w+) (\d+)", text))
		for name in open(sys.argv[1]).read().split():
		    if name in number:
		        print(name, number[name])
	END
	# EPERM, ENOSYS; then EBADF, ENOMEM, EACCES, EFAULT, EINVAL, EMFILE and ENOSPC: more than 400.
	errors='1 38'
	[ -z "${LONG:-}" ] || errors+=' 9 12 13 14 22 24 28'
	wrong=
	n=0
	while read -r name number; do
		# Without it the C library aborts wherever it has to wait, by chance.
		[ "$name" != futex ] || continue
		for err in $errors; do
			wanted=$(timeout 20 ./refuser refuse "$number" $err ./held work 2>/dev/null; echo "status $?")
			got=$($preload timeout 20 ./refuser refuse "$number" $err ./held work 2>/dev/null
				echo "status $?")
			n=$((n + 1))
			[ "$got" = "$wanted" ] || wrong+="$name $err: $got, not $wanted"$'\n'
		done
	done <numbers
	is "$n refused system calls: the program's results are its own" "$wrong" ""
	ok "they are those that the library makes, too" grep -q '^flock ' numbers
fi

# ---- limits ----
limited()
{
	(ulimit "$1" "$2" && shift 2 && exec "$@")
}
same "2 GB of addresses" limited -v 2000000
same "200 MB of addresses" limited -v 200000
same "40 MB of addresses" limited -v 40000
same "files of at most 64 KB" limited -f 64
same "files of no bytes" limited -f 0
same "20 descriptors" limited -n 20
same "no locked memory" limited -l 0
same "a stack of 256 KB" limited -s 256
if [ "$(id -u)" = 0 ] && setpriv --reuid=54321 --clear-groups true 2>/dev/null; then
	chmod 777 .
	own_user()
	{
		(ulimit -u "$1" && shift && exec setpriv --reuid=54321 --clear-groups "$@")
	}
	same "one process" own_user 1
	same "8 processes" own_user 8
	rm -rf run
else
	skip 'few processes' 'only root can become a user who has none'
fi

# ---- /dev/shm ----
# in_mounts COMMANDS COMMAND...: in a view of the mounts of its own.
in_mounts()
{
	unshare -m env -u TRAINPROF_BUFFER_DIR sh -c 'eval "$1"; shift; exec "$@"' sh "$@"
}
if unshare -m true 2>/dev/null; then
	same "/dev/shm from which nothing runs" in_mounts \
		'mount -t tmpfs -o noexec,nosuid,nodev tmpfs /dev/shm || exit 99'
	same "/dev/shm that cannot be written" in_mounts \
		'mount -t tmpfs -o ro tmpfs /dev/shm || exit 99'
	mkdir dev
	same "no /dev/shm" in_mounts 'mount -t tmpfs tmpfs dev && touch dev/null dev/urandom &&
		mount --bind /dev/null dev/null && mount --bind /dev/urandom dev/urandom &&
		mount --rbind dev /dev && ! test -e /dev/shm || exit 99'
else
	skip '/dev/shm' 'no permission to mount'
fi

# ---- lookers-on ----
# beside WHAT COMMAND...: that runs, with the program's number in $pid, while it is recorded.
beside()
{
	local what=$1 tries=0
	shift
	rm -rf run gate
	mkfifo gate
	$preload ./held until-closed <gate >beside.out 2>beside.err &
	pid=$!
	exec 3>gate
	until compgen -G 'run/*.part' >/dev/null || [ $((tries += 1)) -gt 200 ]; do sleep 0.05; done
	"$@" >looker.out 2>&1
	exec 3>&-
	wait $pid
	is "$what: the program ends as ever" "status $?
$(cat beside.out)" "status 5
$(sed '$d' bare.txt)"
	fuse merged --strict run
	is "$what: nothing is lost" "$status $(cat merged.err)" "0 "
}
./held work >bare.txt
echo status 5 >>bare.txt
look_with_gdb()
{
	gdb -nx -batch -p $pid -ex 'info threads' -ex detach
}
look_with_strace()
{
	strace -f -o strace.txt -p $pid &
	local looker=$!
	until [ -s strace.txt ] || ! kill -0 $looker 2>/dev/null; do sleep 0.05; done
	kill -INT $looker
	wait $looker
}
for looker in gdb strace; do
	if ! command -v $looker >/dev/null; then
		skip "$looker" 'it is not installed'
		continue
	fi
	beside "$looker looks on" look_with_$looker
	[ $looker = gdb ] || continue
	like "gdb saw the threads" "$(cat looker.out)" 'trainprof'
done

# ---- many steps ----
rm -rf run
train run TRAINPROF_STEP=auto TRAINPROF_SCHEDULE=wait=900,warmup=10,active=90,repeat=0 \
	TRAINPROF_KEEP=3 ./held steps 300000
is "300,000 steps in memory that does not grow" "$status $(cat run.out)" "0 flat"
diag "$(cat run.err)"
lines=$(grep -c '^s' run/rank0.steps)
ok "each has its line, or it is said that some have none ($lines)" \
	test "$lines $(grep -c 'have no line' run.err)" = "300000 0" -o "$lines" -lt 300000 -a \
	"$(grep -c 'have no line' run.err)" = 1
done_testing
