#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Samples of CPython 3.9 to 3.14: functions, files and lines of threads that stand still are those that
# the interpreter shows, what they wait in, who has its lock and whether it collects garbage is right; while
# threads come and go, import, raise, recurse and make code, no look crashes and each name is a function of
# its file. Of a Python without the global lock nothing is read.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/pysample.sh"
cd "$TMP" || exit 1

build_pysample -O2

found=0
for version in 3.9 3.10 3.11 3.12 3.13 3.13t 3.14 3.14t; do
	if ! python=$(find_python "$version"); then
		skip "Python $version" "not installed"
		continue
	fi
	found=$((found + 1))
	said=$("$python" -W ignore "$PROGS/pysample_check.py" ./pysample.so 2>"$version.err")
	case $version in
	*t)
		is "Python $version: known not to be known" "$said" \
			"${version%t}: frames of free-threaded python are not known"
		continue
		;;
	esac
	like "Python $version: every stack is right, every name a function" "$said" "^$version: [0-9]{2,} right, 0 wrong;"
	# Where names had no room for each other a twentieth was.
	ok "Python $version: few looks are discarded" awk -v said="$said" 'BEGIN {
		match(said, /of [0-9]+ looks/); looks = substr(said, RSTART + 3) + 0
		match(said, /run [0-9]+ were/); exit looks && (substr(said, RSTART + 4) + 0) * 50 > looks }'
	diag "$said"
done
[ "$found" -gt 0 ] || skip_all "no Python with ctypes"
done_testing
