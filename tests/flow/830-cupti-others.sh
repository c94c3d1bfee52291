#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Another user of CUPTI in the same process gets it whenever he asks, with all that he would
# have without us; we have it before and after; the gap is in the trace.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/cuda.sh"
compile libcupti_user.so cupti_user.c -shared -fPIC -lcupti || skip_all "no fake CUPTI to link to"
always=TRAINPROF_SCHEDULE=always

# use NAME WAY [VARIABLE=VALUE...]: the program uses CUPTI itself after step 4.
use()
{
	local name=$1 way=$2
	shift 2
	bare "$name-bare" "LD_LIBRARY_PATH=$FAKES" ./cuda_steps user "$way" ./libcupti_user.so
	cuda "$name" "$@" user "$way" ./libcupti_user.so
	is "$way: he gets what he gets without us" \
		"$status $(cat "$name.out")" "0 $(cat "$name-bare.out")"
}
gap='trainprof: CUPTI was used by libcupti_user.so'

for way in kineto subscriber finalizes; do
	use "$way" "$way" $always
	is "$way: nothing is said" "$(messages_of "$way")" ""
	marks=$(count "$way" 0 $MARK "$gap")
	is "$way: a gap is in the trace, for finalising perhaps another" \
		"$((marks == 1 || (marks == 2 && $(calls "$way" cuptiFinalize) == 1)))" 1
	like "$way: ... with its length" "$("$O/tests/progs/tptdump" "$way/rank0.0.tpt" |
		awk -F '\t' -v name="$gap" '$7 == name { print $9 }')" '^[1-9a-f][0-9a-f]{4,8}$'
	like "$way: ... and is counted" "$(total "$way" 0 cupti.yielded_ns)" '^[1-9]'
	is "$way: none of his launches is ours" "$(($(count "$way" 0 $KERNEL) % 20))" 0
	kernels=$(count "$way" 0 $KERNEL)
	is "$way: we recorded before and after" "$((kernels > 100 && kernels < 280))" 1
done
# His clock stays CUPTI's: what is recorded after him is in its unit.
is "kineto: each piece of device work follows its call, also after him" \
	"$("$O/tests/progs/tptdump" kineto/rank0.0.tpt | awk -F '\t' -v call=$CALL -v kernel=$KERNEL '
		$1 != "EVENT" { next }
		$2 == call { begin[$8] = $3 }
		$2 == kernel { n++; at[n] = $3; of[n] = $8 }
		END { for (i = 1; i <= n; i++)
			if (!begin[of[i]] || at[i] < begin[of[i]] || at[i] > begin[of[i]] + 1e9) bad++
		      print (n > 100 ? "many" : n), bad + 0 }')" "many 0"
unlike "kineto: ... and no clock was set" "$("$MERGE" -q -v health kineto)" "clock was set"
# A second profile registers its clock anew, and with it what CUPTI still holds would lose its times.
use two two_cycles $always
is "two_cycles: what is launched between his two profiles is ours, with its times" \
	"$(($(count two 0 $KERNEL) - $(count kineto 0 $KERNEL))) $(total two 0 cupti.kernel.no_time)" "20 "
use old old_kineto $always
is "old_kineto: two gaps at most" "$(($(count old 0 $MARK "$gap") <= 2))" 1
is "old_kineto: beside his subscription, kernels go on" "$(($(count old 0 $KERNEL) > 100))" 1
like "old_kineto: what does not is said" "$(messages_of old)" \
	"'devmem.calls' is not recorded: another"
use stays stays $always
is "stays: kernels until he came" "$(count stays 0 $KERNEL)" 120
is "stays: and the gap until the end" "$(count stays 0 $MARK "$gap")" 1

# Who looks CUPTI's functions up in the library itself is not seen. Of NVIDIA's Python bindings, which do
# that for torch.profiler's _cuspy, the library is known: CUPTI is theirs from the first window on.
bindings=cycupti.cpython-311-x86_64-linux-gnu.so
cp libcupti_user.so $bindings
bare bound-bare "LD_LIBRARY_PATH=$FAKES" ./cuda_steps user unseen ./$bindings
cuda bound $always user unseen ./$bindings
is "Python's bindings: they get what they get without us" "$status $(cat bound.out)" \
	"0 $(cat bound-bare.out)"
like "... all of it" "$(cat bound.out)" '^user: error 0, 20 kernels, all calls$'
is "... none of CUPTI is ours" "$(count bound 0 $KERNEL) $(calls bound cuptiActivityRegisterCallbacks)" "0 1"
like "... and who has it is said" "$(messages_of bound)" \
	"'cuda' is not recorded: CUPTI is left to cupti-python \\('.*/$bindings'\\), by which .*_cuspy"
is "... once" "$(messages_of bound | wc -l)" 1

# JAX's profiler does so, too. In a process that trains nothing of ours CUPTI is not even taken.
plugin=xla_cuda_plugin.so
cp libcupti_user.so $plugin
bare jax-bare "LD_LIBRARY_PATH=$FAKES" ./cuda_steps user unseen_subscriber ./$plugin
cuda jax $always user unseen_subscriber ./$plugin
is "JAX: it gets what it gets without us" "$status $(cat jax.out)" "0 $(cat jax-bare.out)"
like "... and who has CUPTI is said" "$(messages_of jax)" \
	"'cuda' is not recorded: CUPTI is left to JAX \\('.*/$plugin'\\), by which JAX's profiler"
cat >alone.py <<'EOF'
import ctypes
ctypes.CDLL("libcudart.so.13").cudaFree(None)
ctypes.CDLL("./libcupti_user.so").unseen_subscriber()
EOF
bare alone LD_PRELOAD="$LIB" "LD_LIBRARY_PATH=$FAKES" "$PYTHON" alone.py
is "... where nothing trains nobody stands in its way" \
	"$status $(cat alone.out alone.err)" "0 user: error 0, heard 20"

# whole NAME SCHEDULE: he uses it where no window is open. On a busy machine the thread that takes CUPTI
# back may do so after the next window has begun, which that one says: then once more.
whole()
{
	for ((attempt = 0; attempt < 12; attempt++)); do
		rm -rf "$1"
		use "$1" kineto "TRAINPROF_SCHEDULE=$2"
		[ -n "$(total "$1" 1 cupti.unready)" ] || break
	done
}

# In warm-up, and between windows.
whole warmup wait=1,warmup=1,active=2,repeat=2
is "in warm-up: both windows are whole" \
	"$(count warmup 0 $KERNEL) $(count warmup 1 $KERNEL)" "40 40"
is "... and no gap is in them" "$(count warmup 0 $MARK) $(count warmup 1 $MARK)" "0 0"
whole between at=2,10,active=2
is "between windows: both are whole" "$(count between 0 $KERNEL) $(count between 1 $KERNEL)" "40 40"
is "... and no gap is in them" "$(count between 0 $MARK) $(count between 1 $MARK)" "0 0"

# Releases differ in whether they have cuptiSubscribe_v2, and in what a buffer must be like.
for release in 11.8 12.8; do
	compile libcupti_user.so cupti_user.c -shared -fPIC "-L$FAKES/$release" \
		"-Wl,-rpath,$FAKES/$release" -lcupti
	use "kineto-$release" kineto $always
	like "CUPTI $release: is the one that both used" "$(total "kineto-$release" 0 cupti.path)" \
		"/$release/libcupti"
	is "CUPTI $release: one gap is in the trace" "$(count "kineto-$release" 0 $MARK "$gap")" 1
done

# A program that uses CUPTI and never trains.
bare plain LD_PRELOAD="$LIB" "LD_LIBRARY_PATH=$FAKES" \
	./cuda_steps user old_kineto ./libcupti_user.so
is "in a program that does not train our hooks only forward" \
	"$status $(cat plain.out plain.err)" "0 $(cat old-bare.out)"
# And one without any CUPTI behind the name.
cat >nothing.c <<'EOF'
#include <stdio.h>
int cuptiFinalize(void) __attribute__((weak));
int main(void)
{
	printf("%d\n", cuptiFinalize ? cuptiFinalize() : -1);
}
EOF
"${CC:-cc}" -fPIC -o nothing nothing.c
bare nothing LD_PRELOAD="$LIB" ./nothing
is "no CUPTI behind the name: not initialised (15)" "$(cat nothing.out)" 15

done_testing
