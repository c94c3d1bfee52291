#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# NVIDIA's own NCCL, CUPTI and Python bindings of CUPTI, on a machine without a driver: which are found, how
# far they get, what is refused and said; and that the program gets what it gets without us.

. "$(dirname "$0")/lib/lib.sh"
real=$TOP/build/real
nccl=$real/nvidia/nccl/lib/libnccl.so.2
cupti=$real/nvidia/cu13/lib/libcupti.so.13
[ -e "$nccl" ] || skip_all "no real libraries in '$real' (make setup-long)"
! ldconfig -p | grep -q 'libcuda\.so\.1' || skip_all "there is a driver"
need_torch
. "$(dirname "$0")/lib/cuda.sh"

# ---- NCCL ----

# Of it nothing is seen before the driver is asked: the profiler plugin is opened by the first communicator.
"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -o nccl_real "$PROGS/nccl_real.c" -ldl || no_program
export NCCL_SOCKET_IFNAME=lo
bare nccl-bare ./nccl_real "$nccl"
train nccl TRAINPROF_PROGRAM=nccl_real TRAINPROF_STEP=clock:50 TRAINPROF_SCHEDULE=always \
	./nccl_real "$nccl"
# Its warnings have times in them.
is "NCCL: the same returns and exit status" "$status $(grep '^nccl' nccl.out)" \
	"0 $(grep '^nccl' nccl-bare.out)"
like "NCCL: it is the real one" "$(cat nccl.out)" '^ncclGetVersion 0: 230'
like "NCCL: an id is made, no communicator" "$(grep '^nccl' nccl.out | tr '\n' ' ')" \
	'ncclGetUniqueId 0 ncclCommInitRank [1-9] ncclCommInitAll [1-9]'
is "NCCL: nothing is said" "$(messages_of nccl)" ""
newest=$(grep -ao 'ncclProfiler_v[0-9]*' "$nccl" | sort -uV | tail -n 1)
like "NCCL: the newest interface for profilers that it knows is one of ours" \
	"$(nm -D --defined-only "$LIB")" " $newest\$"

# ---- CUPTI ----

# As a wheel has it, beside cudart; the stand-in for the driver is none that CUPTI takes.
mkdir -p wheel/nvidia/cu13/lib
ln -s "$FAKES/libcudart.so.13" "$cupti" wheel/nvidia/cu13/lib
path=LD_LIBRARY_PATH=$TMP/wheel/nvidia/cu13/lib:$FAKES
bare cupti-bare "$path" ./cuda_steps run
train cupti TRAINPROF_PROGRAM=cuda_steps TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always "$path" ./cuda_steps run
is "CUPTI: the program does the same" "$status $(cat cupti.out)" "0 $(cat cupti-bare.out)"
like "CUPTI: the one beside cudart is found, and why it is of no use is said" "$(messages_of cupti)" \
	"^trainprof: 'cuda' is not recorded: '$TMP/wheel/nvidia/cu13/lib/libcupti.so.13' does not tell"
is "CUPTI: in one line" "$(messages_of cupti | wc -l)" 1

# ---- the Python bindings ----

# alike NAME [VARIABLE=VALUE...] COMMAND...
alike()
{
	local name=$1
	shift
	bare "$name-bare" "PYTHONPATH=$real" "$@"
	train "$name" "PYTHONPATH=$real" "$@"
	is "$name: exit status and output" "$status $(cat "$name.out")" "0 $(cat "$name-bare.out")"
	like "$name: they are there" "$(cat "$name.out")" '^trained .* True$'
}
alike no-driver "$PYTHON" "$PROGS/cupti_bound.py"
is "no-driver: nothing is said" "$(messages_of no-driver)" ""
alike driver "LD_LIBRARY_PATH=$FAKES" "$PYTHON" "$PROGS/fake_gpu.py" "$PROGS/cupti_bound.py"
like "driver: CUPTI is left to them, and that is said" "$(messages_of driver)" \
	"'cuda' is not recorded: CUPTI is left to cupti-python \\('$real/cupti/cycupti"
done_testing
