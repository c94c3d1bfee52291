#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Device memory below the framework: what the trace says is alive is exactly what the program
# says, however it was taken and by whom, told by CUPTI and, without it, by the names of
# cudaMalloc and its like.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"
compile devmem devmem.c -l:libcuda.so.1 || fail "the program is compiled"
cat >asker.c <<'END'
#include <stddef.h>
int cudaMalloc(void **block, size_t bytes);
void ask(void);
void ask(void)
{
	void *block;
	cudaMalloc(&block, 7 << 20);
}
END
"${CC:-cc}" -O1 -shared -fPIC -o libasker.so asker.c -L"$FAKES" -lcudart
# As PyTorch's allocator does: the last call of a function is a jump, and returns to the function's caller.
cat >tail.c <<'END'
#include <stddef.h>
int cudaMalloc(void **block, size_t bytes);
void ask(void);
static __attribute__((noinline)) int allocate(void **block, size_t bytes)
{
	__asm__ volatile("");
	return cudaMalloc(block, bytes);
}
void ask(void)
{
	void *block;
	int result = allocate(&block, 7 << 20);
	__asm__ volatile("" : : "r"(result));
}
END
"${CC:-cc}" -O2 -shared -fPIC -o libtail.so tail.c -L"$FAKES" -lcudart

# victim NAME [VARIABLE=VALUE...] MODE...: devmem under the preload, one window over all of it.
victim()
{
	local name=$1
	local -a settings=(
		TRAINPROF_PROGRAM=devmem TRAINPROF_SCHEDULE=always TRAINPROF_STEP=mark
		"FAKE_CUPTI_LOG=$TMP/$name.log"
		"LD_LIBRARY_PATH=${CUPTI:+$FAKES/$CUPTI:}$FAKES"
	)
	shift
	while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
		settings+=("$1")
		shift
	done
	train "$name" "${settings[@]}" timeout 120 ./devmem "$@"
}

# said NAME KIND LIBRARY: what the view says is alive at the end.
said()
{
	"$MERGE" -v memory --top 0 "$1" 2>/dev/null |
		sed -n "s/^ *GPU [0?]  *$2  *$3  *-*[0-9.]* [A-Za-z]*  *\([0-9.]* [A-Za-z]*\) .*/\1/p"
}

bare bare LD_LIBRARY_PATH="$FAKES" ./devmem kinds ./libasker.so
victim kinds kinds ./libasker.so
is "each kind: the program prints what it does without us" "$status $(cat kinds.out kinds.err)" \
	"0 $(cat bare.out)"
is "... and what is alive is what it says" "live $(total kinds 0 devmem.live.0)" "$(tail -1 kinds.out)"
is "at most at a time" "$(total kinds 0 devmem.peak.0)" "$((101 << 20))"
is "no block was unknown or replaced" \
	"$(total kinds 0 devmem.unknown_frees) $(total kinds 0 devmem.replaced)" "0 0"
is "cudaMalloc" "$(said kinds device devmem)" "1.98 MiB"
is "managed" "$(said kinds managed devmem)" "3.00 MiB"
is "pinned" "$(said kinds pinned devmem)" "4.00 MiB"
is "registered" "$(said kinds registered devmem)" "1.00 MiB"
is "stream-ordered" "$(said kinds pool devmem)" "5.00 MiB"
is "physical: one of two was unmapped after its release" "$(said kinds physical devmem)" "2.00 MiB"
is "mapped, reserved" "$(said kinds mapped devmem) $(said kinds reserved devmem)" "2.00 MiB 64.0 MiB"
is "arrays" "$(said kinds array devmem)" "1.00 MiB"
is "a library that asks is told from the program" "$(said kinds device libasker.so)" "7.00 MiB"
victim tail kinds ./libtail.so
is "... also where it jumps to cudaMalloc" "$(said tail device libtail.so)" "7.00 MiB"
DEVALLOC=16 DEVFREE=17
is "a record of each" "$(count kinds 0 $DEVALLOC) $(count kinds 0 $DEVFREE)" "16 5"
fuse view -v memory kinds
like "what the driver says, less what is known" "$(cat view.out)" \
	'not attributed +[0-9.]+ MiB: CUDA.s context'

for CUPTI in 11.8 12.0 12.4 12.8 future; do
	export CUPTI
	victim "v$CUPTI" kinds ./libasker.so
	is "CUPTI $CUPTI: the same" "live $(total "v$CUPTI" 0 devmem.live.0)" "$(tail -1 bare.out)"
done
unset CUPTI

victim threads TRAINPROF_RECORD=devmem threads 128 3000
is "128 threads that free each other's blocks" "live $(total threads 0 devmem.live.0)" \
	"$(cat threads.out)"
is "... none of them unknown, or replaced by another" \
	"$(total threads 0 devmem.unknown_frees) $(total threads 0 devmem.replaced)" "0 0"
is "... each has its record, or is counted as lost" \
	"$(($(count threads 0 $DEVALLOC) + $(count threads 0 $DEVFREE) + $(
		"$MERGE" -v health threads 2>/dev/null | sed -n 's/.*LOST *\([0-9,]*\) events.*/\1/p' |
			tr -d , | grep . || echo 0)))" \
	"$(($(total threads 0 devmem.allocs) + $(total threads 0 devmem.frees)))"

victim reset reset
is "what a destroyed context held is gone" "live $(total reset 0 devmem.live.0)" "$(cat reset.out)"

victim devices FAKE_GPU_DEVICES=2 devices
is "each device has its own" "$(total devices 0 devmem.live.0) $(total devices 0 devmem.live.1)" \
	"$((1 << 20)) $((3 << 20))"
victim fork fork
is "a child changes nothing of its parent's" "live $(total fork 0 devmem.live.0)" "$(cat fork.out)"

# ---- windows ----

victim steps TRAINPROF_SCHEDULE=wait=2,warmup=1,active=2,repeat=2 steps 12
is "what came before a window is known in it" \
	"$(total steps 0 devmem.live.0) $(total steps 1 devmem.live.0)" "$((5 << 20)) $((10 << 20))"
is "records of the windows' steps only" "$(count steps 0 $DEVALLOC) $(count steps 1 $DEVFREE)" "4 2"
is "the program's calls of cudaProfilerStart are marks" \
	"$(count steps 0 "$MARK" cudaProfilerStart)" 2
fuse steps-view -v memory --top 0 steps
like "the view has each step" "$(cat steps-view.out)" 'GPU 0 +4 +7\.00 MiB +2 +3\.00 MiB +1 +2\.00 MiB'
like "the peak and its step" "$(cat steps-view.out)" 'most at a time +12\.0 MiB.* in step 9,'

# ---- without CUPTI ----

expected=$(("$(tail -1 bare.out | cut -d' ' -f2)" - (3 << 20)))	# no names for VMM, arrays
for why in FAKE_CUPTI_OWNER=nsys TRAINPROF_CUPTI_LIB=/nowhere/libcupti.so; do
	victim names "$why" TRAINPROF_OVERWRITE=1 kinds ./libasker.so
	is "$why: the names tell instead" "$status $(total names 0 devmem.live.0)" "0 $expected"
	is "$why: and who asked, exactly" "$(said names device libasker.so)" "7.00 MiB"
	is "$why: the program prints the same" "$(cat names.out)" "$(cat bare.out)"
done
victim refused FAKE_CUPTI_FAIL=cuptiEnableCallback:0:1 kinds ./libasker.so
is "CUPTI refuses the callbacks: the names tell instead" "$(total refused 0 devmem.live.0)" "$expected"
victim refused TRAINPROF_OVERWRITE=1 FAKE_CUPTI_FAIL=cuptiEnableCallback@243:0:1 kinds ./libasker.so
is "... those of the driver only: the runtime's tell, but for the call that brings CUPTI" \
	"$(total refused 0 devmem.live.0)" "$((expected - (1 << 20)))"
victim names-threads FAKE_CUPTI_OWNER=nsys threads 128 1000
is "128 threads, by name" "live $(total names-threads 0 devmem.live.0)" "$(cat names-threads.out)"
victim off TRAINPROF_RECORD=host kinds
is "not asked for: nothing is told" "$(total off 0 devmem.allocs)" ""

# Programs that look whether there is a cudaMalloc must not find ours.
cat >look.c <<'END'
#include <dlfcn.h>
#include <stdio.h>
extern int cudaMalloc(void **block, unsigned long bytes) __attribute__((weak));
int main(void)
{
	printf("%d %d\n", cudaMalloc != 0, dlsym(RTLD_DEFAULT, "cudaMalloc") != 0);
	return 0;
}
END
"${CC:-cc}" -D_GNU_SOURCE -o look look.c -ldl
bare look LD_PRELOAD="$LIB" ./look
is "a program without CUDA sees no cudaMalloc" "$(cat look.out)" "0 0"

# ---- faults ----

for fault in FAKE_CUPTI_FAIL=cuptiEnableCallback:0:1 FAKE_CUPTI_FAIL=cuptiGetDeviceId:0:1 \
	FAKE_CUPTI_FAIL=cuptiGetContextId:0:1 FAKE_CUPTI_FAIL=cuptiSubscribe:0:15 \
	FAKE_CUPTI_FATAL=5 FAKE_NVML=off; do
	victim fault "$fault" TRAINPROF_OVERWRITE=1 kinds ./libasker.so
	is "$fault: the training goes on" "$status $(cat fault.out)" "0 $(cat bare.out)"
done
for call in cuMemAlloc_v2 cuMemFree_v2 cuMemAllocAsync cuMemFreeAsync cuMemCreate cuMemMap \
	cuMemRelease cuMemUnmap cuMemAllocManaged; do
	bare fails "FAKE_CUDA_FAIL=$call:1:2" LD_LIBRARY_PATH="$FAKES" ./devmem kinds
	victim fails-us "FAKE_CUDA_FAIL=$call:1:2" TRAINPROF_OVERWRITE=1 kinds
	is "a failing $call: the program sees what it sees without us" \
		"$status $(cat fails-us.out)" "0 $(cat fails.out)"
done
victim fails TRAINPROF_OVERWRITE=1 FAKE_CUDA_FAIL=cuMemFree_v2:1:2 kinds
is "a free that failed freed nothing" "$(total fails 0 devmem.live.0)" \
	"$(("$(tail -1 fails.out | cut -d' ' -f2)" + (100 << 20)))"

done_testing
