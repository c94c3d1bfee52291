#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each call of CUPTI fails, the first time or always, with errors that NVIDIA documents for it:
# the program runs as before, what can be recorded is, and one line says what cannot.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"

for steps in 12 50; do
	bare bare-$steps LD_LIBRARY_PATH="$FAKES" ./cuda_steps run $steps
done

# fails CALL NTH CODE [SCHEDULE STEPS]: the run with that failure; unharmed is a check of its own.
fails()
{
	local steps=${5:-12}
	name=fail-$1-$2-$3
	cuda "$name" "FAKE_CUPTI_FAIL=$1:$2:$3" ${4:+"$4"} run "$steps"
	[ "$status $(cat "$name.out")" = "0 $(cat bare-$steps.out)" ] && [ -e "$name/rank0.1.tpt" ] ||
		harmed+="$1:$2:$3 -> $status $(cat "$name.out") "
	words=$(messages_of "$name")
	[ "$(printf '%s' "$words" | grep -c .)" -le 1 ] || harmed+="$1:$2:$3 says too much: $words "
}

# All of CUPTI's documented errors of a kind of call, and its general ones. "0": each time.
general='1 2 15 21 35 999'
harmed=
for call in cuptiSubscribe cuptiSubscribe_v2 cuptiActivityRegisterCallbacks \
	cuptiActivitySetAttribute cuptiSetThreadIdType cuptiActivityEnable \
	cuptiActivityEnableAndDump cuptiActivityDisable cuptiActivityFlushAll \
	cuptiActivityGetNumDroppedRecords cuptiActivityEnableRuntimeApi \
	cuptiActivityEnableDriverApi cuptiActivityEnableAllSyncRecords cuptiEnableCallback \
	cuptiUnsubscribe cuptiGetVersion cuptiGetTimestamp cuptiActivityGetNextRecord; do
	for code in $general; do
		fails $call 0 "$code"
	done
	fails $call 1 999
	fails $call 2 15
	is "$call fails: unharmed, at most one line" "$harmed" ""
	harmed=
done

for code in 15 999; do
	rm -rf fail-cuptiActivityRegisterCallbacks-1-$code
	fails cuptiActivityRegisterCallbacks 1 $code
	like "no buffers ($code): said with the error's name" "$words" \
		"'cuda' is not recorded: CUPTI refuses our buffers: CUPTI_ERROR_"
	is "... and no record is asked for" "$(calls "$name" cuptiActivityEnable)" 0
done
fails cuptiActivityEnable@10 0 21 $apart 50
like "kernels are refused: said" "$words" \
	"'cuda.kinds' .* refuses kernels: CUPTI_ERROR_INVALID_KIND"
is "... and the rest goes on" "$(count "$name" 1 $KERNEL) $(count "$name" 1 $MEMCPY)" "0 2"
is "... and is counted" "$(total "$name" 0 cupti.errors)" 1
is "... and is not asked for again" "$(calls "$name" 'cuptiActivityEnable 10 ')" 1
fails cuptiActivityEnable@5 0 21 $apart 50
is "calls are refused: kernels go on" \
	"$(count "$name" 1 $KERNEL) $(count "$name" 1 $CALL cuda)" "40 0"
name=fail-all
cuda $name FAKE_CUPTI_FAIL=cuptiActivityEnable:0:35,cuptiActivityEnableAndDump:0:35 run
like "no permission: one line says so" "$(messages_of $name)" \
	"'cuda' is not recorded: CUPTI refuses .*: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
is "... and it is one" "$status $(messages_of $name | wc -l)" "0 1"

# ---- others have it ----

cuda owned FAKE_CUPTI_OWNER='Nsight Systems' run
like "another tool has CUPTI: he is named" "$(messages_of owned)" \
	"'cuda' is not recorded: CUPTI is in use by .*Nsight Systems"
is "... and CUPTI is left to him" "$status $(calls owned cuptiActivity)" "0 0"
like "... which the trace says, too" "$("$O/tests/progs/tptdump" owned/rank0.0.tpt)" \
	'^META.off\.cuda=CUPTI is in use by'
CUPTI=12.4 cuda owned12 FAKE_CUPTI_OWNER=nsys run
like "... an older CUPTI does not know his name" "$(messages_of owned12)" \
	"'cuda' is not recorded: CUPTI is in use by another"

# ---- no CUPTI that works ----

cuda missing TRAINPROF_CUPTI_LIB=/nowhere/libcupti.so run
like "the CUPTI that was named is not there" "$status $(messages_of missing)" \
	"^0 .*'cuda' is not recorded: cannot open '/nowhere/libcupti.so'"
real=$TOP/build/cuda/lib/libcupti.so.13
if [ -e "$real" ]; then
	cuda real "TRAINPROF_CUPTI_LIB=$real" run
	is "NVIDIA's own CUPTI, no driver that it knows: unharmed" "$status $(cat real.out)" "0 $(cat bare-12.out)"
	like "... and said" "$(messages_of real)" "'cuda' is not recorded: CUPTI .*CUPTI_ERROR_"
else
	skip "NVIDIA's own CUPTI without a driver" "no build/cuda/lib (make setup)"
fi

done_testing
