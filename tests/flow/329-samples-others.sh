#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long
#
# Samples against those that py-spy takes of the same process at the same time and rate, of five programs:
# the same functions, their shares within 3 points. Of functions that last less than a microsecond, which are
# read while they run: within 10.

. "$(dirname "$0")/lib/lib.sh"
need_torch
pyspy=$(dirname "$PYTHON")/py-spy
[ -x "$pyspy" ] || pyspy=$(command -v py-spy) || skip_all "no py-spy (make setup-long)"

# The shares of both, once: what comes by chance does not come three times.
attempt()
{
	local kind=$1 points=$2

	rm -rf "${TMP:?}/$kind"*
	train "$kind" TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=samples TRAINPROF_SAMPLE_HZ=250 \
		"$PYTHON" "$PROGS/sampled.py" "$kind" "$pyspy" record -p '{}' -r 250 -d "${EACH:-20}" \
		-i -F -f raw -o "$TMP/$kind.pyspy"
	[ -s "$TMP/$kind.pyspy" ] || return
	"$MERGE" -q -f folded -o "$TMP/$kind.folded" "$TMP/$kind" 2>&1
	"$PYTHON" "$TOP/tests/flow/lib/samples_compare.py" "$TMP/$kind.folded/samples.folded" \
		"$TMP/$kind.pyspy" "$points" 2>"$TMP/said"
}

compare()
{
	local kind=$1 functions=$2 points=${3:-3} found=

	for _ in 1 2 3; do
		found=$(attempt "$kind" "$points")
		[ -s "$TMP/$kind.pyspy" ] || skip_all "py-spy may not read a process here"
		diag "$kind: $(cat "$TMP/said")"
		[ "$found" != "$functions" ] || break
	done
	is "$kind: the same functions, shares within $points points" "$found" "$functions"
}

compare plain "main often rarely seldom spin work_plain"
compare recursion "dive main often seldom spin work_recursion"
compare generators "fail generate main numbers spin work_generators"
compare short "fail generate main numbers spin work_short" 10
compare calls "digest dump main sort work_calls"
compare threads "beside digest main often rarely seldom spin work_plain"
done_testing
