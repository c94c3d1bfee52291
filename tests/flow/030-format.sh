#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The format is what its manual page says: a second reader, written from the page alone, reads
# from the golden traces what the first one read.

. "$(dirname "$0")/lib.sh"

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
done_testing
