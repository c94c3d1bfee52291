#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
#
# Training loops of many shapes: the step ledger has as many steps and epochs as the loop has,
# each with its batches, and says by what they were found.

. "$(dirname "$0")/lib/lib.sh"
need_torch

# What the ledger of $TMP/$1 says: steps of each epoch, batches of the steps, sources.
count_steps()
{
	awk '/^s/ {
		e = 0; b = 1; c = 1
		for (i = 2; i <= NF; i++) {
			k = substr($i, 1, 1)
			if (k == "e") e = substr($i, 2)
			if (k == "b") b = substr($i, 2)
			if (k == "c") c = substr($i, 2)
		}
		steps[e]++
		if (!seen_b[b]++) batches = batches (batches == "" ? "" : ",") b
		if (!seen_c[c]++) sources = sources (sources == "" ? "" : ",") c
		if (e > last) last = e
	}
	END {
		for (e = 0; e <= last; e++) printf "%s%d", e ? "," : "", steps[e]
		printf " batches %s source %s\n", batches, sources
	}' "$TMP/$1"/*.steps
}

# steps CASE WANTED
steps()
{
	train "$1" "$PYTHON" "$PROGS/loops.py" "$1"
	is "$1: exit status" "$status" 0
	is "$1: steps of each epoch" "$(count_steps "$1")" "$2"
}

steps plain       '6,6 batches 1 source 1'
steps iterable    '6,6 batches 1 source 1'
steps persistent  '6,6,6 batches 1 source 1'
steps sanity      '6,6 batches 1 source 1'
steps twins       '6,6 batches 2 source 1'
steps critic      '12 batches 1 source 1'
steps in_backward '6,6 batches 1 source 1'
steps on_thread   '6,6 batches 1 source 1'
steps no_loader   '12 batches 0 source 1'
steps one_batch   '12 batches 1 source 1'
# Eight batches and the one that made it the source came before.
steps inference   '15 batches 1 source 3'

done_testing
