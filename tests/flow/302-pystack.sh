#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Python stacks: functions, files, lines of all frames, read from the interpreter in CPython 3.9 to
# 3.14, are those that sys._getframe shows; in any thread, from any kind of function. Of one without
# the global lock none are read.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1

"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote "$TOP" -O2 -fPIC -shared -fvisibility=hidden \
	-o pystack.so "$PROGS/pystack_lib.c" "$TOP"/runtime/probe/python/{pystack*,pyapi,pyframe_layout}.c \
	"$TOP"/runtime/base/{readable,text}.c -ldl || no_program

found=0
for version in 3.8 3.9 3.10 3.11 3.12 3.13 3.13t 3.14 3.14t; do
	if ! python=$(find_python "$version"); then
		skip "Python $version" "not installed"
		continue
	fi
	found=$((found + 1))
	said=$("$python" -W ignore "$PROGS/pystack_check.py" ./pystack.so 2>"$version.err")
	case $version in
	3.8) known="3.8: frames of this version of python are not known" ;;
	*t) known="${version%t}: frames of free-threaded python are not known" ;;
	*) known= ;;
	esac
	if [ "$known" ]; then
		is "Python $version: known not to be known" "$said" "$known"
		continue
	fi
	like "Python $version: every frame is right" "$said" \
		"^$version: [0-9]{4} right, 0 wrong, (no )?greenlet$"
	like "Python $version: what was left out is counted" "$(cat "$version.err")" \
		"pystack.broken=[0-9]+ pystack.cut=([3-9]|[0-9]{2,}) pystack.refused=0"
	like "Python $version: so it is while another profiler traces" \
		"$("$python" -W ignore -m cProfile -o profile "$PROGS/pystack_check.py" ./pystack.so 2>profile.err)" \
		"^$version: [0-9]{4} right, 0 wrong, (no )?greenlet$"
	like "Python $version: that it has ended is seen" "$(cat "$version.err")" "^pystack.ending=1,1$"
done
[ "$found" -gt 0 ] || skip_all "no Python with ctypes"
done_testing
