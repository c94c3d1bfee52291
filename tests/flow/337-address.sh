#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# long
#
# Trainings under the whole library, built for the address sanitizer: operators, tensors, Python's stacks,
# modules, categories, samples; layouts are measured in memory that is others'. Not a word of the sanitizer's.

. "$(dirname "$0")/lib/lib.sh"

need_torch
asan=$("${CC:-cc}" -print-file-name=libasan.so)
[ -e "$asan" ] || skip_all "no address sanitizer"
# Without it nothing could be thrown under the sanitizer.
throws=$("${CC:-cc}" -print-file-name=libstdc++.so.6)
ours=$TMP/asan/libtrainprof.so
env -u MAKEFLAGS -u MAKELEVEL make -s -C "$TOP" O="$TMP/asan" SAN=address CFLAGS="-O1 -g" CC="${CC:-cc}" \
	"$ours" >"$TMP/make" 2>&1
[ -e "$ours" ] || { cat "$TMP/make"; exit 1; }

for program in train_gpt train_modules train_cnn train_accumulate; do
	bare "$program-alone" OMP_NUM_THREADS=1 "$PYTHON" "$PROGS/$program.py"
	train "$program" OMP_NUM_THREADS=1 LD_PRELOAD="$asan $throws $ours" ASAN_OPTIONS=detect_leaks=0 \
		TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=all "$PYTHON" "$PROGS/$program.py"
	is "$program: it says and ends as without us" "$status $(cat "$TMP/$program.out")" \
		"0 $(cat "$TMP/$program-alone.out")"
	is "$program: nothing is said by the sanitizer" "$(grep -c Sanitizer "$TMP/$program.err")" 0
	like "$program: it was recorded" "$("$MERGE" -q -v overview "$TMP/$program")" "recorded +[0-9,]+ of [0-9,]+ steps"
done
done_testing
