#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The format is what its manual page says: a second reader, written from the page alone, reads
# what the first one reads, from the golden traces and from one of noise.

. "$(dirname "$0")/lib/lib.sh"

command -v zstd >/dev/null || skip_all 'no zstd program'

second_reader()
{
	"$PYTHON" "$TOP/tests/golden/decode.py" "$1" >"$2"
}

for trace in "$TOP"/tests/golden/*.tpt; do
	version=$(basename "$trace" .tpt)
	ok "version $version: the second reader reads it" second_reader "$trace" "$TMP/listing"
	ok "version $version: and finds the same" cmp "$TMP/listing" "${trace%.tpt}.txt"
done

build()
{
	cd "$TOP" && ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -iquote . -O1 -o "$TMP/list" \
		tests/golden/list.c runtime/base/*.c runtime/trace/*.c \
		"$(${CC:-cc} -print-file-name=libzstd.a)" -lm
}

ok 'the program that writes noise is built' build
"$TMP/list" --noise "$TMP/noise.tpt" >"$TMP/noise.txt"
ok 'noise: the second reader reads it' second_reader "$TMP/noise.tpt" "$TMP/listing"
ok 'noise: and finds the same' cmp "$TMP/listing" "$TMP/noise.txt"
done_testing
