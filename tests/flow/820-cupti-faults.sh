#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What happens to programs: forks, ends in the middle, contexts that go, more threads and
# streams than there are buffers, ids that wrap, clocks that go back, a CUPTI that dies. The program
# runs as without us, what was lost is counted.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"
always=TRAINPROF_SCHEDULE=always

# same NAME WHAT MODE...: it ends and prints as without the library.
same()
{
	local name=$1 what=$2
	shift 2
	local -a settings=()
	while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
		settings+=("$1")
		shift
	done
	bare "$name-bare" "LD_LIBRARY_PATH=$FAKES" FAKE_GPU_DEVICES=2 ./cuda_steps "$@"
	local wanted
	wanted="$status $(cat "$name-bare.out")"
	cuda "$name" FAKE_GPU_DEVICES=2 "${settings[@]}" "$@"
	is "$what: ends and prints as without us" "$status $(cat "$name.out")" "$wanted"
}

# ---- fork ----

same fork "fork" $apart fork 50
is "fork: the parent's windows are whole" "$(count fork 0 $KERNEL) $(count fork 1 $KERNEL)" "40 40"
# The stand-in's first thread is the parent's first; the other is our drain.
is "fork: no child calls CUPTI" "$(sed 's/.* tid //' fork.log | sort -u | wc -l)" 2
is "fork: nothing is said" "$(messages_of fork)" ""

# Here the children open sessions of their own.
cat >python_fork.py <<'EOF'
import ctypes, os, sys
import torch
cudart = ctypes.CDLL("libcudart.so.13")
block = ctypes.c_void_p()
assert cudart.cudaMalloc(ctypes.byref(block), ctypes.c_size_t(4096)) == 0
marks = ctypes.CDLL(None)
for step in range(8):
    cudart.cudaMemsetAsync(block, 0, ctypes.c_size_t(4096), None)
    marks.trainprof_v1_step()
    child = os.fork()
    if not child:
        for i in range(8):
            marks.trainprof_v1_step()
        if step % 2:
            os._exit(7)
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
EOF
if torch_takes_fakes; then
	train python LD_LIBRARY_PATH="$FAKES" FAKE_CUPTI_LOG="$TMP/python.log" TRAINPROF_STEP=mark \
		TRAINPROF_SCHEDULE=wait=0,warmup=1,active=2,repeat=0 "$PYTHON" python_fork.py
	is "fork of a process that trains: all end well" "$status $(sort -u python.out)" "0 7"
	is "... the children recorded" "$(($(find python -name '*pid*.tpt' | wc -l) >= 8))" 1
	is "... and none of them called CUPTI" "$(sed 's/.* tid //' python.log | sort -u | wc -l)" 2
else
	skip "fork of a process that trains" "$no_fakes"
fi

# ---- the end ----

for how in exit _exit return; do
	same "end-$how" "end by $how in a window" $always $how
	is "end by $how: everything until then is there" "$(count "end-$how" 0 $KERNEL)" 280
	is "end by $how: what CUPTI still had was asked for" \
		"$(total "end-$how" 0 cupti.kernel.no_time)$(total "end-$how" 0 cupti.dropped)" ""
done

# ---- contexts, threads, streams ----

same context "a context destroyed with its records outstanding" context 8
is "... and they are there" "$(count context 0 $KERNEL)" 80
same many "two devices, 64 streams, 128 threads" many 8
is "... each launch and each kernel once" \
	"$(count many 0 $KERNEL) $(count many 0 $CALL cudaLaunchKernel)" "5120 5120"
CUPTI=12.4 same many12 "the same with CUPTI 12.4, which cannot be refused a buffer" \
	TRAINPROF_CUPTI_BUFFER=1M many 8
like "... thrown away is counted" "$(total many12 0 cupti.trashed_bytes)" '^[1-9]'
is "... and nobody was refused" "$(total many12 0 cupti.refused)" ""

# Buffers for a fraction of it: refused, dropped by CUPTI, counted by us. Nothing is lost unseen.
same pressure "buffers of 1 MB" TRAINPROF_CUPTI_BUFFER=1M TRAINPROF_SCHEDULE=always many 6
made=$("$O/tests/progs/tptdump" pressure/rank0.0.tpt | awk -F '\t' '
	$1 == "EVENT" && ($2 == 9 && $7 == "cudaLaunchKernel" || $2 == 10)' | wc -l)
dropped=$(total pressure 0 cupti.dropped)
refused=$(total pressure 0 cupti.refused)
if [ -n "$dropped" ]; then
	like "... dropped are: refused buffers and lost records are counted" "$dropped $refused" \
		'^[1-9][0-9]* [1-9]'
	is "... written + dropped is all that there was" \
		"$((made + dropped >= 2 * 15360 && made < 2 * 15360))" 1
else
	is "... all were written" "$made" $((2 * 15360 + 40))
fi

# ---- numbers ----

same wrap "ids that wrap" FAKE_CUPTI_CORRELATION=4294967200 run
is "... kernels find their calls" "$("$O/tests/progs/tptdump" wrap/rank0.0.tpt | awk -F '\t' '
	$1 == "EVENT" && $2 == 9 && $7 == "cudaLaunchKernel" { call[$8]++ }
	$1 == "EVENT" && $2 == 10 { kernel[$8]++ }
	END { for (id in kernel) n += kernel[id] == 1 && call[id] == 1; print n }')" 40
same back "times that go back, and that are not there" back 8
is "... what has no time is counted" "$(($(total back 0 cupti.kernel.no_time) >= 20))" 1
there=$(count back 0 $KERNEL)
is "... the rest is there, but for what seems to be of before the window" \
	"$((there >= 50 && there <= 60))" 1
for deliver in now shuffled; do
	same "deliver-$deliver" "buffers that come $deliver" FAKE_CUPTI_DELIVER=$deliver $apart \
		run 50
	is "... with everything" "$(count "deliver-$deliver" 0 $KERNEL) $(
		count "deliver-$deliver" 1 $KERNEL)" "40 40"
done

# ---- a CUPTI that dies ----

same fatal "CUPTI dies in the first window" FAKE_CUPTI_FATAL=100 run
like "... said once" "$(messages_of fatal)" \
	"'cuda' is not recorded: CUPTI gave up after a fatal error"
is "... it is not called again" "$(calls fatal 'cuptiActivityEnable 10 ')" 1
like "... what it kept is counted" "$(total fatal 0 cupti.buffers_kept)" '^[1-9]'

done_testing
