# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# jobs.sh - distributed trainings bare and under the preload, and what must be true of both: sourced
# by the tests of jobs, after lib.sh

need_tptdump
port=$((29900 + RANDOM % 800))
SCHEDULE=wait=2,warmup=1,active=4	# steps 3 to 6

# What each rank asked gloo for, in order, by the trace. Ticks are nanoseconds: CLOCK=monotonic.
order_of()
{
	"$DUMP" "$1" | awk '$1 == "EVENT" && $7 ~ /^gloo:/ {
		printf "%.0f %s\n", $3 - ($8 == 4294967295 ? 0 : $8), $7
	}' |
		sort -n | cut -d ' ' -f 2 | tr '\n' ' '
}

# job NAME N COMMAND...: N ranks, bare and with us. With BARE=none not bare, with BOOKS=none nothing
# was booked.
job()
{
	local name=$1 n=$2 files i
	shift 2
	port=$((port + 1))
	mkdir -p "$TMP/$name-books"
	if [ "${BARE:-}" != none ]; then
		bare "$name-bare" MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" STORE="$TMP/$name-store0" "$@"
		is "$name: bare exit status" "$status" 0
		port=$((port + 1))
	fi
	train "$name" TRAINPROF_SCHEDULE="$SCHEDULE" TRAINPROF_CLOCK=monotonic MASTER_ADDR=127.0.0.1 \
		MASTER_PORT="$port" STORE="$TMP/$name-store1" BOOKS="$TMP/$name-books" "$@"
	is "$name: exit status" "$status" 0
	[ "${BARE:-}" = none ] || is "$name: same output, of ranks in any order" \
		"$(sort "$TMP/$name.out")" "$(sort "$TMP/$name-bare.out")"
	is "$name: no message" "$(messages_of "$name")" ""
	files=$(cd "$TMP/$name" && echo *)
	for i in $(seq 0 $((n - 1))); do
		echo "rank$i.0.tpt rank$i.steps"
	done >"$TMP/$name.want"
	is "$name: files of its ranks, and no others" "$files" "$(tr '\n' ' ' <"$TMP/$name.want" |
		sed 's/ $//')"
	fuse "$name-comm" -q -v comm --top 0 "$TMP/$name"
	fuse "$name-rows" -q -f jsonl -v comm --top 0 "$TMP/$name"
	is "$name: merge" "$status" 0
	unlike "$name: no causality violation, nobody missing" "$(cat "$TMP/$name-comm.out")" \
		'before another|no trace|died'
	[ "${BOOKS:-}" = none ] || ok "$name: what was booked, matched one to one" "$PYTHON" \
		"$TOP/tests/flow/lib/comm_books.py" "$TMP/$name-rows.out" "$TMP/$name-books" 3 6
}

# same_order NAME N: all ranks asked for the same in the same order.
same_order()
{
	local first i
	first=$(order_of "$TMP/$1/rank0.0.tpt")
	like "$1: rank 0 asked for something" "$first" 'gloo:'
	for i in $(seq 1 $(($2 - 1))); do
		is "$1: rank $i asked for the same in the same order" \
			"$(order_of "$TMP/$1/rank$i.0.tpt")" "$first"
	done
}

torchrun()
{
	local name=$1 n=$2
	shift 2
	job "$name" "$n" "$PYTHON" -m torch.distributed.run --nproc_per_node "$n" \
		--master_port "$((port + 2000))" "$@"
}
