#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Tensor memory of every kind: blocks of the CPU allocator, shared memory, mapped files, an
# allocation that fails, threads that allocate together; and the ledger's bytes alive.

. "$(dirname "$0")/lib/lib.sh"
need_torch
need_tptdump
cd "$TMP" || exit 1

train run TRAINPROF_SCHEDULE=wait=2,active=1,warmup=0 TRAINPROF_LOG=info \
	"$PYTHON" "$PROGS/blocks.py" "$TMP"
is "it runs" "$status" 0
"$DUMP" run/*.tpt >run.tsv

# memory KIND FLAGS ADDRESS LENGTH: how many such records there are ("-": any).
memory()
{
	awk -F'\t' -v kind="$1" -v flags="$2" -v address="$3" -v length_="$4" '
		$1 == "EVENT" && $2 == kind && $5 == flags && (address == "-" || $9 == address) &&
			(length_ == "-" || $4 == length_) { n++ }
		END { print n + 0 }' run.tsv
}

ALLOC=4 FREE=5 TOTALS=6 MARK=8 SHARED=20
while read -r what address bytes; do
	case $what in
	plain)
		address=$(printf %x "$address")
		ok "a block is made" test "$(memory $ALLOC 0 "$address" "$bytes")" -ge 1
		ok "and given back" test "$(memory $FREE 0 "$address" 0)" -ge 1
		;;
	shared)
		is "a block in shared memory is made" "$(memory $ALLOC $SHARED - "$bytes")" 1
		is "and given back" "$(memory $FREE $SHARED - "$bytes")" 1
		;;
	mapped)
		bytes=$address
		is "a mapped file is there" "$(memory $ALLOC $SHARED - "$(stat -c %s tensor.pt)")" 1
		is "and gone" "$(memory $FREE $SHARED - "$(stat -c %s tensor.pt)")" 1
		;;
	failed)
		is "an allocation fails as it does without us" "$address" True
		is "and is marked" "$(memory $MARK 0 4000000000000000 -)" 1
		like "and said" "$(messages_of run)" "out of memory on the host: 4611686018427387904 bytes"
		;;
	esac
done <run.out
is "two threads' blocks are all there" "$(memory $ALLOC 0 - 4000)" 1000
is "the window begins with the bytes alive" "$(memory $TOTALS 0 - -)" 1
is "every block that was made is given back once, in order" "$(awk -F'\t' '
	$1 == "EVENT" && $2 == 4 { if ($9 in live) print "twice", $9; live[$9] = 1 }
	$1 == "EVENT" && $2 == 5 { delete live[$9] }
	END { for (a in live) print "kept", a }' <(sort -t'	' -k3,3n run.tsv) | grep -c twice)" 0
said=$("$MERGE" -q -v memory run)
like "the view says who asked for too much" "$said" \
	$'Out of memory: CPU\n  requested +4.00 EiB.*\n  by +aten::[a-z]+ at progs/blocks.py:[0-9]+'
done_testing
