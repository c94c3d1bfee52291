#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
#
# The ready queries of scripts/sql, by DuckDB over the reader library's tables: all their rows are those of
# the merge's views, to the nanosecond and byte. Of a training, of two ranks, of devices. With LONG=1: of
# 512 ranks.

. "$(dirname "$0")/lib/lib.sh"
gen=$O/tests/bench/gen_traces
[ -x "$gen" ] || skip_all "no gen_traces (make check-flow builds it)"
"$PYTHON" -c 'import duckdb' 2>/dev/null || skip_all "no duckdb in $PYTHON (make setup)"
mkdir -p "$TMP/site"
cp -r "$TOP/scripts/python/trainprof" "$TMP/site/"
cp -r "$TOP/scripts/sql" "$O/libtrainprof-read.so" "$TMP/site/trainprof/"

# equal NAME RUN [TABLE...]: of these tables there are rows.
equal()
{
	local name=$1 run=$2
	shift 2
	PYTHONPATH=$TMP/site:${PYTHONPATH:-} ok "$name: all rows of all queries are the views'" \
		"$PYTHON" "$TOP/tests/flow/lib/sql_rows.py" "$run" "$@"
}

"$gen" "$TMP/gpus" 2 20000 1 gpu >"$TMP/gen.out"
equal "two ranks with devices, generated" "$TMP/gpus" breakdown operators kernels memory

if "$PYTHON" -c 'import torch' 2>/dev/null; then
	train gpt TRAINPROF_SCHEDULE=wait=1,warmup=1,active=4 \
		"$PYTHON" "$PROGS/train_gpt.py" --steps 8 --epochs 1 --size tiny
	is "a training: exit status" "$status" 0
	equal "a training" "$TMP/gpt" breakdown operators memory
	train ranks TRAINPROF_SCHEDULE=wait=2,warmup=1,active=8 \
		"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port $((30100 + RANDOM % 800)) \
		"$PROGS/late_rank.py" --late data
	is "two ranks: exit status" "$status" 0
	equal "two ranks" "$TMP/ranks" breakdown operators collectives ranks memory
else
	skip "a training" "no torch"
fi

replay=$O/tests/progs/replay
if [ -x "$replay" ]; then
	train devices TRAINPROF_PROGRAM=replay TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
		LD_LIBRARY_PATH="$FAKES/12.4:$FAKES" timeout 100 "$replay" "$TOP/tests/golden/steps.replay"
	is "devices, replayed: exit status" "$status" 0
	equal "devices, replayed" "$TMP/devices" breakdown operators kernels
else
	skip "devices, replayed" "no '$replay' (make fakes)"
fi

if [ -n "${LONG:-}" ]; then
	"$gen" "$TMP/many" 512 1200 3 gpu 1 >"$TMP/gen.out"
	equal "512 ranks, generated" "$TMP/many" breakdown operators kernels memory
fi
done_testing
