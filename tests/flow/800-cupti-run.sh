#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What CUDA does in a window is in its trace, once, in all releases of CUPTI; outside of
# windows CUPTI is asked for nothing; and who has no GPU sees nothing of all this.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"

bare bare LD_LIBRARY_PATH="$FAKES" ./cuda_steps run
bare bare-50 LD_LIBRARY_PATH="$FAKES" ./cuda_steps run 50
cuda run $apart run 50
is "the same is printed, and nothing else" "$status $(cat run.out run.err)" "0 $(cat bare-50.out)"
for window in 0 1; do
	is "window $window: each kernel of its two steps, none of warm-up" \
		"$(count run $window $KERNEL)" 40
	is "window $window: a call for each launch" "$(count run $window $CALL cudaLaunchKernel)" 40
	is "window $window: copies and sets" \
		"$(count run $window $MEMCPY) $(count run $window $MEMSET)" "2 2"
done
is "each kernel has a call of its own" \
	"$("$O/tests/progs/tptdump" run/rank0.0.tpt | awk -F '\t' '
		$1 == "EVENT" && $2 == 9 && $7 == "cudaLaunchKernel" { call[$8]++ }
		$1 == "EVENT" && $2 == 10 { kernel[$8]++ }
		END { for (id in kernel) n += kernel[id] == 1 && call[id] == 1; print n }')" 40
is "calls that only ask are not there" "$(count run 0 $CALL 'cudaGetDevice|cudaGetLastError')" 0
is "what CUPTI is and where" "$(total run 0 cupti.version) $(total run 0 cupti.path)" \
	"130001 $FAKES/libcupti.so.13"
is "nothing was lost" "$(total run 1 'cupti\.dropped')$(total run 1 'cupti\.refused')$(
	total run 1 'cupti\.errors')" ""
is "what was switched on was switched off" "$(calls run 'cuptiActivityDisable .*-> 0')" \
	"$(calls run 'cuptiActivityEnable(AndDump)? .*-> 0')"

cuda never TRAINPROF_SCHEDULE=skip_first=100 run
is "no window: no records asked for, no flush" \
	"$(calls never 'cuptiActivity(Enable|EnableAndDump|Disable|FlushAll) ')" 0

for CUPTI in 11.8 12.0 12.4 12.8 13.0 future; do
	export CUPTI
	cuda "v$CUPTI" $apart run 50
	is "CUPTI $CUPTI: the same" \
		"$status $(cat "v$CUPTI.out" "v$CUPTI.err")" "0 $(cat bare-50.out)"
	is "CUPTI $CUPTI: kernels, launches, copies, sets" \
		"$(count "v$CUPTI" 1 $KERNEL) $(count "v$CUPTI" 1 $CALL cudaLaunchKernel) $(
			count "v$CUPTI" 1 $MEMCPY) $(count "v$CUPTI" 1 $MEMSET)" "40 40 2 2"
	like "CUPTI $CUPTI: is the one that was used" "$(total "v$CUPTI" 1 cupti.path)" "/$CUPTI/lib"
done
unset CUPTI

# What others launch by the driver's API, as cuBLAS does: its calls, and no others of the driver's.
for CUPTI in 12.4 13.0; do
	export CUPTI
	cuda "driver$CUPTI" driver
	is "CUPTI $CUPTI: kernels launched by the driver's API, each with its call" \
		"$("$O/tests/progs/tptdump" "driver$CUPTI/rank0.0.tpt" | awk -F '\t' '
			$1 == "EVENT" && $2 == 9 && $7 == "cuLaunchKernel" { call[$8]++ }
			$1 == "EVENT" && $2 == 10 && $7 == "by_the_driver" { kernel[$8]++; n++ }
			END { for (id in kernel) with += call[id] == 1; print n + 0, with + 0 }')" "6 6"
done
unset CUPTI
is "... and nothing that only asks" "$(count driver13.0 0 $CALL 'cuCtx|cuModule|cuMemAlloc')" 0

cuda graph-node graph
is "a graph by its nodes" "$(count graph-node 0 $KERNEL) $(count graph-node 0 $GRAPH)" "46 0"
cuda graph-launch TRAINPROF_CUDA_GRAPHS=launch graph
is "a graph by its launches" "$(count graph-launch 0 $KERNEL) $(count graph-launch 0 $GRAPH)" "40 2"

# ---- ways in ----

cuda late CUDA_INJECTION64_PATH= run
is "the driver did not tell us: found when a window is armed" \
	"$status $(count late 0 $KERNEL)" "0 40"
cuda within CUDA_INJECTION64_PATH= TRAINPROF_SCHEDULE=always run 300
like "... or while one is open" "$status $(count within 0 $KERNEL)" "^0 [1-9][0-9]+\$"
like "... and what that window lacks is marked" "$(count within 0 $MARK 'trainprof: CUPTI was not ready')" "^[01]\$"
cuda taken-within CUDA_INJECTION64_PATH=/opt/tool/libtool.so TRAINPROF_SCHEDULE=always run 300
like "... or that it is another's" "$(messages_of taken-within)" "'cuda' is not recorded: CUDA_INJECTION64_PATH was set"
cuda taken CUDA_INJECTION64_PATH=/opt/tool/libtool.so run
like "another tool's variable stays, and that is said" "$(messages_of taken)" \
	"'cuda' is not recorded: CUDA_INJECTION64_PATH was set to another tool: /opt/tool/libtool.so"
is "... and CUPTI is left alone" "$(calls taken cupti)" 0
bare passes LD_PRELOAD="$LIB" TRAINPROF_RECORD=ops,host TRAINPROF_PROGRAM=sh \
	sh -c 'echo "[${CUDA_INJECTION64_PATH-none}]"'
is "nothing of CUDA is wanted: the variable is not set" "$(cat passes.out)" "[none]"
bare passes LD_PRELOAD="$LIB" TRAINPROF_PROGRAM=sh TRAINPROF_DIR="$TMP/passes" \
	sh -c 'echo "[${CUDA_INJECTION64_PATH-none}]"'
is "... else it is our path" "$(cat passes.out)" "[$(realpath "$LIB")]"
cuda without TRAINPROF_RECORD=host,marks run
is "... and CUPTI is not called" "$status $(calls without cupti) $(cat without.err)" "0 0 "
cuda devmem TRAINPROF_RECORD=devmem run
is "device memory alone: no calls, no kernels" \
	"$(count devmem 0 $KERNEL) $(count devmem 0 $CALL) $(count devmem 0 16)" "0 0 2"
bare injected CUDA_INJECTION64_PATH="$LIB" FAKE_CUPTI_LOG="$TMP/injected.log" \
	TRAINPROF_PROGRAM=cuda_steps TRAINPROF_DIR="$TMP/injected" LD_LIBRARY_PATH="$FAKES" \
	./cuda_steps run
is "loaded by the driver alone, without the preload: the library stays out" \
	"$status $(calls injected cupti) $(ls injected 2>/dev/null)" "0 0 "

# ---- no GPU ----

"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote "$TOP" -pthread -o marks "$PROGS/marks.c"
train none TRAINPROF_PROGRAM=marks TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
	FAKE_CUPTI_LOG="$TMP/none.log" LD_LIBRARY_PATH="$FAKES" ./marks own
is "a program without CUDA: no word, no call" \
	"$status $(messages_of none) $(calls none cupti)" "0  0"
unlike "... and nothing of CUPTI in its trace" \
	"$("$O/tests/progs/tptdump" none/rank0.0.tpt)" 'cupti\.|off\.cuda'
# A driver without devices.
cuda nothing FAKE_GPU_DEVICES=0 run
is "a driver without a device: no word of CUPTI" "$(messages_of nothing | grep -v nvml)" ""

# ---- Python: the session opens after CUDA was initialised ----

cat >python_steps.py <<'EOF'
import ctypes, os
cudart = ctypes.CDLL("libcudart.so.13")
block = ctypes.c_void_p()
assert cudart.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(4096)) == 0
marks = ctypes.CDLL(None)
for step in range(12):
    for i in range(10):
        assert cudart.cudaMemsetAsync(block, 0, ctypes.c_size_t(4096), None) == 0
    cudart.cudaDeviceSynchronize()
    if hasattr(marks, "trainprof_v1_step"):
        marks.trainprof_v1_step()
print("done")
EOF
if torch_takes_fakes; then
	sed -i '1i import torch' python_steps.py
	train python LD_LIBRARY_PATH="$FAKES" FAKE_CUPTI_LOG="$TMP/python.log" TRAINPROF_STEP=mark \
		TRAINPROF_SCHEDULE=wait=1,warmup=1,active=2,repeat=1 "$PYTHON" python_steps.py
	is "Python: runs" "$status $(cat python.out python.err)" "0 done"
	is "Python: sets of two steps" "$(count python 0 $MEMSET)" 20
	is "Python: CUPTI was taken when the driver started" "$(calls python cuptiSubscribe)" 1
else
	skip "Python" "$no_fakes"
fi

done_testing
