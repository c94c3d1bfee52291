#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Which optimizer, which loader: read from the interpreter's frames in CPython 3.11 to 3.14,
# asked from the public API before; right in all of them, in any thread.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1

"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote "$TOP" -O2 -fPIC -shared -fvisibility=hidden \
	-o pyframe.so "$PROGS/pyframe_lib.c" "$TOP"/runtime/base/{readable,text}.c \
	"$TOP"/runtime/probe/python/{pyframe,pyframe_layout,pyapi,pyloader}.c -ldl || no_program

found=0
for version in 3.8 3.9 3.10 3.11 3.12 3.13 3.14; do
	if ! python=$(find_python "$version"); then
		skip "Python $version" "not installed"
		continue
	fi
	found=$((found + 1))
	case $version in
	3.8 | 3.9 | 3.10) how="frames of this version of python are not known" ;;
	*) how=frames ;;
	esac
	is "Python $version: every answer is right" \
		"$("$python" "$PROGS/pyframe_check.py" ./pyframe.so 2>&1)" \
		"$version: $how; 189 right, 0 wrong"
done
[ "$found" -gt 0 ] || skip_all "no Python with ctypes"
done_testing
