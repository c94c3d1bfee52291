#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long
#
# 100,000 samples of threads that come and go, import, raise, recurse and make code all the time, by a
# reader built for the address sanitizer: no crash, no wrong access, each name a function of its file; how
# many looks were discarded is printed.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/pysample.sh"
cd "$TMP" || exit 1

asan=$("${CC:-cc}" -print-file-name=libasan.so)
[ -e "$asan" ] || skip_all "no address sanitizer"
build_pysample -O1 -g -fsanitize=address

for version in 3.9 3.11 3.13; do
	if ! python=$(find_python "$version"); then
		skip "Python $version" "not installed"
		continue
	fi
	said=$(LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0 "$python" -W ignore "$PROGS/pysample_check.py" \
		./pysample.so 100000 2>"$version.err")
	like "Python $version: every name is a function of its file" "$said" "^$version: [0-9]{2,} right, 0 wrong;"
	is "Python $version: nothing is said by the sanitizer" "$(grep -c AddressSanitizer "$version.err")" 0
	diag "$said"
done
done_testing
