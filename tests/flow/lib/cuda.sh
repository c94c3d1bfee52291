# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# cuda.sh - what tests of CUDA without a GPU source after lib.sh: programs that use it, run
# against the stand-ins of tests/fakes, and counts out of their traces
#
# A step of cuda_steps is 20 launches, a copy, a set, an allocation and a free.

FAKES=${FAKES:-$O/tests/fakes}
[ -e "$FAKES/libcuda.so.1" ] ||
	skip_all "no stand-ins for CUDA in '$FAKES' (make setup, make fakes)"
cuda_include=$(cd "$TOP" && scripts/cuda-include)
cd "$TMP" || exit 1

# compile OUTPUT SOURCE FLAGS...
compile()
{
	local output=$1 source=$2 folder
	local -a include=()
	shift 2
	for folder in $cuda_include; do
		include+=(-isystem "$folder")
	done
	(cd "$TOP" && "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -iquote . "${include[@]}" -pthread \
		-o "$TMP/$output" "tests/progs/$source" "$@" -L"$FAKES" -lcudart -ldl)
}
compile cuda_steps cuda_steps.c || no_program

# cuda NAME [VARIABLE=VALUE...] MODE...: cuda_steps under the preload; log of its calls of CUPTI in
# NAME.log. CUPTI=12.4 in the environment: of that release.
cuda()
{
	local name=$1
	local -a settings=(
		TRAINPROF_PROGRAM=cuda_steps TRAINPROF_STEP=mark
		"TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2,repeat=2"
		"FAKE_CUPTI_LOG=$TMP/$name.log"
		"LD_LIBRARY_PATH=$FAKES"
		${CUPTI:+"TRAINPROF_CUPTI_LIB=$FAKES/$CUPTI/libcupti.so"}
	)
	shift
	while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
		settings+=("$1")
		shift
	done
	train "$name" "${settings[@]}" timeout 60 ./cuda_steps "$@"
}

# count NAME WINDOW KIND [PATTERN]: records of a kind (number of records.def) in a trace.
count()
{
	"$O/tests/progs/tptdump" "$1/rank0.$2.tpt" |
		awk -F '\t' -v kind="$3" -v name="${4:-}" \
			'$1 == "EVENT" && $2 == kind && $7 ~ name' | wc -l
}

# total NAME WINDOW KEY: of its END text.
total()
{
	"$O/tests/progs/tptdump" "$1/rank0.$2.tpt" | sed -n "s/^END\t$3=//p"
}

# calls NAME PATTERN: how many calls of CUPTI, of the run's log, begin so.
calls()
{
	[ -e "$1.log" ] || { echo 0; return; }
	grep -cE "^$2" "$1.log"
}

# For what is to be in the second window, too (of 50 steps): on a busy machine the thread that reads the
# first one's records may still have CUPTI when a second one begins 10 ms later, and that is marked.
apart="TRAINPROF_SCHEDULE=wait=20,warmup=1,active=2,repeat=2"
export apart

KERNEL=10 CALL=9 MEMCPY=11 MEMSET=12 SYNC=13 GRAPH=14 MARK=8
export KERNEL CALL MEMCPY MEMSET SYNC GRAPH MARK
