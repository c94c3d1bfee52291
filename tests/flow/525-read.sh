#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The library that reads runs: its tables have all rows of -f jsonl, engines take them, damage is an
# error or the rest.

. "$(dirname "$0")/lib/lib.sh"

gen=$O/tests/bench/gen_traces
if [ ! -x "$gen" ]; then
	make -s -C "$TOP" O="$O" CC="$CC" "$gen" >/dev/null 2>&1 || skip_all "no gen_traces"
fi
READ=$O/libtrainprof-read.so
[ -e "$READ" ] || skip_all "no '$READ': run make first"
# The package as it is installed: with the library beside it.
mkdir -p "$TMP/site"
cp -r "$TOP/scripts/python/trainprof" "$TMP/site/"
cp "$READ" "$TMP/site/trainprof/"
export PYTHONPATH=$TMP/site:$TOP/tests/flow/lib PYTHONDONTWRITEBYTECODE=1
views=overview,operator,averages,kernel,memory,comm,module,steps,trace,health,hot,memory-at

is "it exports its own functions, and no more" \
	"$(nm -D --defined-only "$READ" | awk '{ print $3 }' | sort | tr '\n' ' ')" \
	'trainprof_about trainprof_close trainprof_open trainprof_table trainprof_text '

ok "two ranks with devices are made" "$gen" "$TMP/run" 2 20000 1 gpu
for run in "$TMP/run" "$TOP"/tests/golden/*.tpt; do
	fuse rows -q -f jsonl --top 0 -v "$views" "$run"
	ok "$(basename "$run"): all rows of all views" "$PYTHON" "$TOP/tests/flow/lib/read_rows.py" \
		"$run" "$TMP/rows.out"
done

ok "what encloses, what launches, which fields: as the manual has them" \
	"$PYTHON" "$TOP/tests/flow/lib/read_tables.py" "$TMP/run" "$TOP/man/trainprof-read.3"
mkdir "$TMP/json"
"$gen" "$TMP/small" 1 2000 1 gpu >"$TMP/gen.out"
fuse json -q -f torch -o "$TMP/json" "$TMP/small"
gunzip "$TMP"/json/*.gz
ok "cut and damaged files, torch.profiler's too: an error that names the file, or the rest" \
	"$PYTHON" "$TOP/tests/flow/lib/read_damage.py" "$TMP/damaged" "$TMP/run" "$TMP/json"

ok "damaged runs of all kinds, checksums right: rows, or an error that names the file" "$PYTHON" \
	"$TOP/tests/flow/lib/read_fuzz.py" "$TMP/fuzz" "$TOP/tests/fuzz/corpus-whole" "${LONG:+1}100"

for engine in duckdb polars pyarrow; do
	if ! "$PYTHON" -c "import $engine" 2>/dev/null; then
		skip "$engine takes a table" "no $engine here"
		continue
	fi
	ok "$engine takes a table" "$PYTHON" "$TOP/tests/flow/lib/read_engine.py" "$engine" "$TMP/run"
done
done_testing
