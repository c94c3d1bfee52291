#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A device that makes more records than we take: memory stays within its caps, the program is
# unharmed, and each record is in the file or counted as lost.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"

compile cupti_pressure ../bench/cupti_pressure.c || no_program

value()	# NAME KEY
{
	sed -n "s/^$2 //p" "$1.out"
}

# press NAME CALLS THREADS [VARIABLE=VALUE...]
press()
{
	train "$1" LD_LIBRARY_PATH="$FAKES" FAKE_CUPTI_DELIVER=now TRAINPROF_RECORD=cuda \
		TRAINPROF_PROGRAM=cupti_pressure TRAINPROF_SCHEDULE=always "${@:4}" \
		./cupti_pressure "$2" "$3"
	is "$1: the program is unharmed" "$status $(value "$1" calls)" "0 $(($2 * $3))"
}

# Calls of the runtime that a call of ours makes, and records of CUDA's own start: where nothing
# is lost, what is there is what was offered.
press quiet 20 2
"$O/tests/progs/tptdump" quiet/rank0.0.tpt >quiet.dump
few=$(awk -F '\t' '$1 == "EVENT" && $2 >= 9 && $2 <= 15' quiet.dump | wc -l)
calls=$(awk -F '\t' '$1 == "EVENT" && $2 == 9' quiet.dump | wc -l)
is "a few records: all are there" "$("$PYTHON" "$TOP/tests/flow/lib/cupti_books.py" "$few" \
	<quiet.dump >books; echo $?)" 0
a_call=$((calls / 40 + 200))
own=$((few - 40 * a_call))

books()	# NAME
{
	local offered=$(($(value "$1" calls) * a_call + own)) said
	said=$("$O/tests/progs/tptdump" "$1/rank0.0.tpt" |
		"$PYTHON" "$TOP/tests/flow/lib/cupti_books.py" "$offered")
	is "$1: each record is written or counted as lost" "$? $said" "0 $said"
	diag "$said"
}

press buffers 4000 2 TRAINPROF_CUPTI_BUFFER=2M
books buffers
like "buffers: too few of them is what lost records" \
	"$("$O/tests/progs/tptdump" buffers/rank0.0.tpt)" '^END	cupti\.dropped=[1-9]'
press ring 4000 2 TRAINPROF_CUPTI_BUFFER=32M TRAINPROF_BUFFER=1M
books ring
least=$(value quiet peak_kib)
most=$((least + 4096))
ok "memory does not grow with the records" [ "$(value buffers peak_kib)" -le $most ]
fuse health -v health buffers
like "the health view tells" "$(cat health.out health.err)" 'CUPTI|dropped|lost'

done_testing
