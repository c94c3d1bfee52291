#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Programs that have nothing to do with training do not notice the library: same output, same
# status, no message, no file, no thread, and almost no system call.

. "$(dirname "$0")/lib/lib.sh"
# Everything below runs here, so that a file out of place is seen.
mkdir "$TMP/here" && cd "$TMP/here" || exit 1
cc=${CC:-cc}

# same NAME COMMAND...: output, errors and status with the preload are those without.
same()
{
	local name=$1 bare_status
	shift
	bare "$name.bare" "$@"
	bare_status=$status
	train "$name" "$@"
	is "$name: same status" "$status" "$bare_status"
	ok "$name: same output" cmp "$TMP/$name.bare.out" "$TMP/$name.out"
	ok "$name: same errors" cmp "$TMP/$name.bare.err" "$TMP/$name.err"
}

# Values that no variable accepts: in these processes nobody must say so.
export TRAINPROF_SCHEDULE='wait=minus one' TRAINPROF_BUFFER=lots TRAINPROF_LOG=shout \
	TRAINPROF_RECORD=everything TRAINPROF_HOST_PERIOD=never TRAINPROF_CONFIG=/no/such/file

cat >hello.c <<'EOF'
#include <stdio.h>
int main(void) { puts("hello"); return 5; }
EOF
cat >Makefile <<'EOF'
all: one two
one two:; @echo $@ | tr a-z A-Z
EOF
cat >tool.py <<'EOF'
import os, subprocess, sys, threading
print(sum(range(1000)), len(os.listdir("/proc/self/task")))
print(subprocess.run(["echo", "child"], capture_output=True).stdout)
threading.Thread(target=lambda: print("thread")).start()
sys.exit(4)
EOF

same true true
same false false
same pipeline bash -c 'printf "b\na\n" | sort | { read -r x; echo "$x"; }; exit 3'
same substitution bash -c 'x=$(echo $(expr 1 + 2)); (exit 9) || echo "$x $?"'
same closed-output bash -c 'echo lost >&-; exec 1>&-; true'
same compile "$cc" -o hello hello.c
same compiled ./hello
same bad-compile "$cc" -o none none.c
same make make
same missing-command bash -c 'no-such-command; echo $?'
same git git -c init.defaultBranch=main init -q repository
same python "$PYTHON" tool.py
same python-command "$PYTHON" -c 'import sys; print(sys.version); sys.exit(2)'
same python-isolated "$PYTHON" -I -S -c 'print(1)'
same python-error "$PYTHON" -c 'raise SystemExit("bad")'
same python-loader "$PYTHON" -c 'import multiprocessing as m
if __name__ == "__main__":
    with m.get_context("fork").Pool(2) as p: print(p.map(abs, [-1, -2]))'

if "$cc" -static -o static hello.c 2>/dev/null; then
	same static ./static
else
	skip "static: same output" "no static C library"
fi

rm -rf hello.c hello static Makefile tool.py repository
is "no file was left in the folder" "$(ls -A)" ""
is "no trace folder was made" "$(find "$TMP" -name '*.tp*' -o -name '*.ring*')" ""

# One thread, and nothing in the file system but what the loader itself opens.
is "a program keeps its one thread" \
	"$(LD_PRELOAD=$LIB sh -c 'ls /proc/self/task | wc -l')" 1
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
	# Paths that any call names, but for the loader's look at the library.
	touched()
	{
		strace -f -e trace=file,network -o "$TMP/calls" env "LD_PRELOAD=$1" \
			bash -c '/bin/true; /bin/true | /bin/true'
		grep -v 'execve(' "$TMP/calls" | grep -o '"/[^"]*"' | grep -v "\"$LIB\"" | sort -u
	}
	unset TRAINPROF_CONFIG
	is "no path is touched that is not touched without it" "$(touched "$LIB")" "$(touched '')"
else
	skip "no path is touched that is not touched without it" "strace does not work here"
fi

is "schedule off: nothing at all" \
	"$(TRAINPROF_SCHEDULE=off TRAINPROF_PROGRAM=sh LD_PRELOAD=$LIB sh -c 'echo out; exit 0' 2>&1)" out
is "another program's name: nothing at all" \
	"$(TRAINPROF_PROGRAM=nobody LD_PRELOAD=$LIB sh -c 'echo out' 2>&1)" out
is "what only starts the named program is not it" \
	"$(TRAINPROF_SCHEDULE=always TRAINPROF_PROGRAM=tool.py LD_PRELOAD=$LIB sh -c 'echo out; true tool.py' 2>&1)" out
is "no file was left in the end" "$(ls -A)" ""
done_testing
