#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 1200
#
# Tables by engines of several processes, a part each rank: Dask's and Spark's local clusters give all rows
# that the reader library gives, and the same answers by one worker, by two, and with one of two killed.

. "$(dirname "$0")/lib/lib.sh"
gen=$O/tests/bench/gen_traces
[ -x "$gen" ] || skip_all "no gen_traces (make check-flow builds it)"
mkdir -p "$TMP/site"
cp -r "$TOP/scripts/python/trainprof" "$TMP/site/"
cp "$O/libtrainprof-read.so" "$TMP/site/trainprof/"
export PYTHONPATH=$TMP/site PYTHONDONTWRITEBYTECODE=1
"$gen" "$TMP/ranks" 8 5000 1 gpu >"$TMP/gen.out"

# shows ENGINE
shows()
{
	local program=$TOP/tests/flow/lib/engines_parts.py
	ok "$1, two workers: all rows of all tables, and a query" "$PYTHON" "$program" "$1" "$TMP/ranks" 2
	ok "$1, one worker" "$PYTHON" "$program" "$1" "$TMP/ranks" 1
	ok "$1, two workers, one killed while it computes" "$PYTHON" "$program" "$1" "$TMP/ranks" 2 kill
}

if "$PYTHON" -c 'import dask.dataframe, distributed, pyarrow' 2>/dev/null; then
	shows dask
else
	skip "dask" "no dask with distributed in $PYTHON (make setup-long)"
fi
if ! "$PYTHON" -c 'from pyspark.sql.datasource import EqualTo; import pandas, pyarrow' 2>/dev/null; then
	skip "spark" "no pyspark 4.1 in $PYTHON (make setup-long)"
elif ! command -v java >/dev/null; then
	skip "spark" "no java (make setup-long)"
else
	shows spark
fi
done_testing
