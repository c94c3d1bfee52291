#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# Samples where reading is refused, or would be the end of the process, and beside a program that makes it
# hard: each comes to the same end as without us, says what it cannot do, and no sample has a name that is
# another function's.

. "$(dirname "$0")/lib/lib.sh"
need_torch
"$PYTHON" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || skip_all "samples are of Python 3.11 only"
cd "$TMP" || exit 1
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -pthread -I"$TOP" -o held "$PROGS/held.c" -ldl || no_program
export TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=ops,samples TRAINPROF_SAMPLE_HZ=1000 TRAINPROF_BUFFER=64M \
	TRAINPROF_BUFFER_DIR=$TMP/rings
mkdir rings
readv=$(number_of process_vm_readv)

# as_bare WHAT NAME COMMAND...: bare, then recorded in $TMP/NAME. False: not possible here.
as_bare()
{
	local what=$1 name=$2 wanted
	shift 2
	bare "$name.bare" timeout 200 env "$@"
	if [ "$status" = 77 ]; then
		skip "$what" "not allowed here"
		return 1
	fi
	wanted="0 $(cat "$name.bare.out"); $(cat "$name.bare.err")"
	train "$name" timeout 200 env "$@"
	is "$what: it ends as the bare run" "$status $(cat "$name.out"); $(grep -v '^trainprof: ' "$name.err")" \
		"$wanted"
}

# n_samples NAME
n_samples()
{
	"$O/tests/progs/tptdump" "$1"/*.tpt | sed -n 's/^END	samples.taken=//p'
}

# named NAME: samples were taken, and each place is a file and a function.
named()
{
	fuse "$1.hot" -q -v hot --top 0 -f jsonl "$1"
	ok "... samples are there: $(n_samples "$1")" test "$(n_samples "$1")" -gt 20
	is "... and every place is a file and a function" \
		"$(grep -vE '"function":"[^"]*(\.py|>)(:[0-9]+)? [^"]+"' "$1.hot.out")" ""
}

# ---- reading is refused ----

hard=("$PYTHON" "$PROGS/sampled_hard.py")
for answer in "refuse $readv 1" "refuse $readv 38" "kill $readv"; do
	# shellcheck disable=SC2086
	as_bare "process_vm_readv: ${answer% "$readv"*}${answer##*"$readv"}" refused ./held $answer \
		"${hard[@]}" plain || continue
	like "... it is said" "$(messages_of refused)" "'samples' is not recorded: .*process_vm_readv"
	is "... once, and nothing else is" "$(messages_of refused | wc -l)" 1
	like "... and the rest is recorded" "$("$O/tests/progs/tptdump" refused/*.tpt | head -100000)" \
		"^EVENT	1	.*aten::"
	rm -rf refused
done
as_bare "a filter that allows it" filtered ./held kill 9999 "${hard[@]}" plain && named filtered
# systemd's list of what services need lacks it.
rm -rf filtered
as_bare "clock_adjtime: kill" filtered ./held kill "$(number_of clock_adjtime)" "${hard[@]}" plain && named filtered

# ---- what is asked of /proc ----

in_mounts=(unshare -m sh -c 'eval "$1"; shift; exec "$@"' sh)
if unshare -m mount -t tmpfs tmpfs /proc 2>/dev/null; then
	as_bare "no /proc" no_proc "${in_mounts[@]}" 'mount -t tmpfs tmpfs /proc || exit 77' "${hard[@]}" plain
	as_bare "/proc with hidden processes" hidden "${in_mounts[@]}" 'mount -t proc -o hidepid=2 proc /proc || exit 77' \
		"${hard[@]}" plain && named hidden
else
	skip "no /proc" "no permission to mount"
fi

# ---- what programs do ----

for habit in plain threads forks undumpable unshared; do
	as_bare "$habit" "$habit" "${hard[@]}" "$habit"
	named "$habit"
	[ "$habit" != threads ] || like "... and more threads than are sampled are said" "$(messages_of threads)" \
		'more than 256 threads run Python'
	[ "$habit" != threads ] || like "... and the one that trains is one of them" "$(cat threads.hot.out)" \
		'sampled_hard.py:[0-9]+ spin_plain'
	rm -rf "$habit"
done
as_bare made made "${hard[@]}" made

# own_names WHAT NAME [NUMBER]: each function has the name that it had when it ran, of so many (a pattern;
# hundreds).
own_names()
{
	local many=${3:-'[0-9][0-9][0-9]+'}
	"$O/tests/progs/tptdump" "$2"/*.tpt >"$2.dump"
	said=$("$PYTHON" "$TOP/tests/flow/lib/samples_true.py" "$2.dump")
	like "$1" "$said" "^$many right, 0 wrong"
	diag "$said"
}

own_names "made: functions that are made anew have their own names" made
late()
{
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -fPIC -shared "$@" -o late_reads.so "$PROGS/late_reads.c" ||
		no_program
	train late LD_PRELOAD="$TMP/late_reads.so $LIB" timeout 200 "${hard[@]}" made
}
late
own_names "... also where whoever looks is late, for it had no core" late
rm -rf late
late -DEACH=13 -DLATE_US=1500
own_names "... and where it is late in each look" late '[0-9]{2,}'

# ---- an interpreter that ends and begins again ----

read -r include libdir library packages < <("$PYTHON" -c 'import sysconfig as s; v = s.get_config_var
import os, torch
print(s.get_paths()["include"], v("LIBDIR"), "python" + v("LDVERSION"),
      s.get_paths()["purelib"] + ":" + os.path.dirname(os.path.dirname(torch.__file__)))')
if "${CC:-cc}" -O1 -I"$include" -o python_twice "$PROGS/python_twice.c" -L"$libdir" -Wl,-rpath,"$libdir" \
	"-l$library" 2>/dev/null; then
	cat >short.py <<-END
		import sys
		sys.path.append("$PROGS")
		import sampled_hard
		print(sampled_hard.train(20))
	END
	as_bare "an interpreter that begins again" twice "PYTHONPATH=$packages" ./python_twice short.py 5
	named twice
else
	skip "an interpreter that begins again" "no libpython to link with"
fi

# ---- lookers-on ----

# beside NAME COMMAND...: that runs with the program's number as its last word, while it trains.
beside()
{
	local name=$1 pid i
	shift
	TRAINPROF_DIR=$TMP/$name LD_PRELOAD=$LIB "${hard[@]}" forks >"$name.out" 2>"$name.err" &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		! compgen -G "$name/*.part" >/dev/null || break
		sleep 0.1
	done
	"$@" $pid >looker.out 2>&1
	wait $pid
	is "$name looks on: it ends as the bare run" "$? $(cat "$name.out")" "0 $(cat forks.bare.out)"
	named "$name"
}
look_with_strace()
{
	timeout -s INT 2 strace -f -o strace.txt -p "$1"
}
if command -v gdb >/dev/null; then
	beside gdb gdb -nx -batch -ex 'info threads' -ex detach -p
else
	skip gdb "it is not installed"
fi
if strace -o /dev/null true 2>/dev/null; then
	beside strace look_with_strace
else
	skip strace "it is not there, or may not trace"
fi

# ---- killed while a sample is read ----

n_kills=3
[ -z "${LONG:-}" ] || n_kills=30
for ((k = 0; k < n_kills; k++)); do
	rm -rf killed
	TRAINPROF_DIR=$TMP/killed LD_PRELOAD=$LIB "${hard[@]}" made >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 600; i++)); do
		! compgen -G "killed/*.part" >/dev/null || break
		sleep 0.1
	done
	after_ms=$((RANDOM % 1500))
	sleep "$(printf '%d.%03d' $((after_ms / 1000)) $((after_ms % 1000)))"
	kill -KILL $pid
	wait $pid 2>/dev/null
	fuse recovered --recover -q -o /dev/null killed
	fuse recovered -q -v hot --top 0 -f jsonl killed
	is "killed after $after_ms ms: what was recorded is read" "$status $(cat recovered.err)" "0 "
	is "... every place is a file and a function" \
		"$(grep -vE '"function":"[^"]*(\.py|>)(:[0-9]+)? [^"]+"' recovered.out)" ""
done
done_testing
