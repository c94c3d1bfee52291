#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tests/progs/replay does what its file says: device records to the nanosecond, calls by name and in
# order, memory, at any speed and as often as one likes, with CUPTI of any release; and it says in
# one line what is wrong with a file. Under the preload all of it is in the trace.

. "$(dirname "$0")/lib/lib.sh"
FAKES=${FAKES:-$O/tests/fakes}
replay=$O/tests/progs/replay
[ -x "$replay" ] || skip_all "no '$replay' (make setup, make fakes)"
cd "$TMP" || exit 1
steps=$TOP/tests/golden/steps.replay
include=()
for folder in $(cd "$TOP" && scripts/cuda-include); do
	include+=(-isystem "$folder")
done
(cd "$TOP" && "${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -O1 -shared -fPIC "${include[@]}" \
	-o "$TMP/lines.so" tests/progs/cupti_lines.c -ldl) || no_program

# play NAME RELEASE [VARIABLE=VALUE...] ARGUMENTS...: what CUPTI said is in NAME.lines.
play()
{
	local name=$1 release=$2
	local -a settings=()
	shift 2
	while [[ ${1:-} =~ ^[A-Za-z_][A-Za-z0-9_]*= ]]; do
		settings+=("$1")
		shift
	done
	bare "$name" CUPTI_LINES="$TMP/$name.lines" CUDA_INJECTION64_PATH="$TMP/lines.so" \
		CUPTI_FILE="$(echo "$FAKES/$release"/libcupti.so.*)" "${settings[@]}" \
		timeout 100 "$replay" "$@"
}

compare()
{
	"$PYTHON" "$TOP/tests/flow/lib/replay_lines.py" "$@"
}

# ---- what is delivered ----

for release in 11.8 12.0 12.4 12.8 13.0; do
	play "v$release" "$release" FAKE_CUPTI_VERSION= "$steps"
	is "CUPTI $release: plays" "$status $(cat "v$release.out")" "0 "
	is "CUPTI $release: records of devices and calls are the file's" \
		"$(compare "$steps" "v$release.lines")" "0 differences"
done
play devices 13.0 FAKE_CUPTI_VERSION= "$TOP/tests/golden/devices.replay"
is "two devices, a copy between them, large ids" \
	"$(compare "$TOP/tests/golden/devices.replay" devices.lines)" "0 differences"
like "what it says at the end" "$(cat v12.4.err)" \
	'^replay: 98 actions; late by .* us at most; 1 overlapped$'
play shuffled 13.0 FAKE_CUPTI_VERSION= FAKE_CUPTI_DELIVER=shuffled "$steps"
is "out of order, the same" "$(compare "$steps" shuffled.lines)" "0 differences"
play graphs 12.4 CUPTI_GRAPHS=1 "$steps"
is "graphs as one: no kernels of theirs" "$(compare --graphs "$steps" graphs.lines)" "0 differences"
is "... but a record each" "$(grep -c '^kind 51$' graphs.lines)" 3
play twice 12.4 --repeat 2 "$steps"
is "twice: ids and times go on" "$(compare --repeat 2 "$steps" twice.lines)" "0 differences"
play fast 12.4 --speed 4 "$steps"
fast=$(awk '$1 == "kernel" && $8 ~ /gemm/ { print $2, $3 }' fast.lines |
	while read -r start end; do echo $((end - start)); done | sort -u)
is "four times as fast: kernels last a quarter" "$fast" 125000
is "memory of the driver: in its call, and alone" "$(awk '
	$1 == "memory" { print $2, $3, ($4 < 2147483648 ? "in its call" : "alone"), $5, $6 }' v12.4.lines |
	head -2)" "1 3 alone 0x700000000000 1048576
2 3 in its call 0x700000000000 1048576"
read -r outer outer_end < <(awk '$1 == "api" && $4 == 104 { print $2, $3 }' v12.4.lines)
read -r inner inner_end < <(awk '$1 == "api" && $4 == 105 { print $2, $3 }' v12.4.lines)
ok "a call in a call lies inside of it" test "$outer" -le "$inner" -a "$inner_end" -le "$outer_end"
# The comparison itself.
sed '/node_two/{s/^\(kernel [0-9]*\)[0-8] /\19 /;t;s/^\(kernel [0-9]*\)9 /\18 /}' v12.4.lines >wrong.lines
unlike "a nanosecond is found" "$(compare "$steps" wrong.lines)" '^0 differences'
grep -v cudaStreamSynchronize v12.4.lines >wrong.lines
unlike "a call that is missing is found" "$(compare "$steps" wrong.lines)" '^0 differences'

# ---- files ----

# says NAME STATUS MESSAGE LINES: of a file with these lines; printf's escapes.
says()
{
	printf '%b' "# trainprof-replay 1\n$4\n" >"$1.replay"
	bare "$1" "$replay" "$1.replay"
	is "$1: exit status" "$status" "$2"
	like "$1: one line" "$(cat "$1.err")" "$3"
	is "$1: and no more" "$(grep -vc 'actions; late' "$1.err")" 1
}
tab=$(printf '\t')
says backwards 2 '^replay: backwards.replay:2: ends before it starts$' \
	'range\ttid=1\tstart=5\tend=4\tname=a\tcat=b'
says unsorted 2 '^replay: unsorted.replay:5: starts before the line before it$' \
	'\n# note\nrange\ttid=1\tstart=5\tend=6\tname=a\tcat=b\nmem\ttid=1\tat=4\top=alloc\tbytes=1\tkind=device'
says lacking 2 "^replay: lacking.replay:2: a 'api' line needs 'corr'\$" \
	'api\ttid=1\tstart=5\tend=6\tname=cudaMalloc'
says twice-a-key 2 "^replay: twice-a-key.replay:2: 'tid' is there twice\$" \
	'api\ttid=1\tstart=5\tend=6\tname=cudaMalloc\tcorr=1\ttid=2'
says word 2 "^replay: word.replay:2: tid='one' is no integer\$" \
	'api\ttid=one\tstart=5\tend=6\tname=cudaMalloc\tcorr=1'
says grid 2 "^replay: grid.replay:2: grid='1,1' is not x,y,z\$" \
	'kernel\tstart=5\tend=6\tcorr=1\tdevice=0\tcontext=1\tstream=1\tname=k\tgrid=1,1'
says percent 2 "^replay: percent.replay:2: '%' is none of" 'thread\ttid=1\tname=50%'
says kind 0 "^replay: kind.replay:2: kind 'what' is ignored\$" 'what\ta=1\nwhat\ta=2'
says key 0 "^replay: key.replay:2: key 'thread.colour' is ignored\$" \
	'thread\ttid=1\tcolour=red\nthread\ttid=2\tcolour=blue'
says nccl 0 "^replay: nccl.replay:2: kind 'nccl' is ignored\$" \
	'nccl\tstart=1\tend=2\ttid=1\tfunc=AllReduce\nnccl\tstart=1\tend=2\ttid=1\tfunc=AllReduce'
echo 'not a replay' >other.replay
bare other "$replay" other.replay
is "another file" "$status $(cat other.err)" \
	"2 replay: other.replay:1: the first line is not '# trainprof-replay 1'"
bare absent "$replay" absent.replay
like "no file" "$status $(cat absent.err)" "^2 replay: cannot open 'absent.replay': No such file"
bare usage "$replay" --speed 0 "$steps"
is "a speed of nothing" "$status $(cat usage.err)" \
	"2 usage: replay FILE [--speed X] [--repeat N]"

# ---- the rank ----

sed "s/^run${tab}rank=0${tab}world_size=1/run${tab}rank=3${tab}world_size=8/" "$steps" >rank.replay
play rank 12.4 rank.replay
is "a rank of its own: a second start, once" "$status $(compare rank.replay rank.lines)" \
	"0 0 differences"

# ---- under the preload ----

train trace TRAINPROF_PROGRAM=replay TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
	LD_LIBRARY_PATH="$FAKES/12.4:$FAKES" timeout 100 "$replay" "$steps"
is "recorded: runs" "$status $(cat trace.out)" "0 "
"$O/tests/progs/tptdump" trace/*.tpt >dump.txt
is "... kernels with their ids" "$(awk -F '\t' '$1 == "EVENT" && $2 == 10 { print $8, $7 }' dump.txt |
	sort -n | sed 's/(.*//')" "$(awk -F '\t' '$1 == "kernel" {
		for (i = 2; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] } print v["corr"], v["name"] }' \
		"$steps" | sort -n)"
is "... blocks of the driver's memory, made and given back" \
	"$(grep -c "^EVENT${tab}16${tab}" dump.txt) $(grep -c "^EVENT${tab}17${tab}" dump.txt)" "3 3"
is "... ranges of the program" "$(grep -c "^EVENT${tab}2${tab}.*aten::mm" dump.txt)" 3
is "... steps" "$(grep -c '^s.* c6 ' trace/rank0.steps)" 3
train ranked TRAINPROF_PROGRAM=player TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
	LD_LIBRARY_PATH="$FAKES/12.4:$FAKES" timeout 100 "$replay" rank.replay
is "recorded as rank 3, and as nothing else" "$status $(ls ranked)" "0 rank3.0.tpt
rank3.steps"

# ---- more shared memory than a block has without asking ----

# Two blocks of 99 KiB and the driver's one find room on a multiprocessor of an A100. torch.profiler says
# 0 % of such kernels, so that none of its traces can show this.
{
	echo '# trainprof-replay 1'
	tr ' ' "$tab" <<-'EOF'
		range start=0 end=3000000 tid=1 name=ProfilerStep#0 cat=user_annotation
		api start=100000 end=180000 tid=1 corr=1 name=cudaLaunchKernel
		kernel start=300000 end=800000 corr=1 device=0 context=1 stream=7 name=big grid=216,1,1 block=256,1,1 smem_dynamic=101376
	EOF
} >big.replay
for release in 11.8 13.0; do
	train "big-$release" TRAINPROF_PROGRAM=replay TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
		LD_LIBRARY_PATH="$FAKES/$release:$FAKES" timeout 100 "$replay" big.replay
	like "$release: a block's limit, which only the driver tells, is in the trace" \
		"$("$O/tests/progs/tptdump" "big-$release"/*.tpt)" '^DEVICE.block_shared_optin=166912$'
	fuse "kernel-$release" -q -v kernel -f csv "big-$release"
	is "$release: ... so that 99 KiB are two blocks, 12.5 % of the threads" \
		"$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			$at["kernel"] == "big" { print $at["blocks_per_sm"], $at["occupancy_percent"] }' \
			"kernel-$release.out")" "2.0000 12.5"
done
fuse hta -q -f torch -o hta big-13.0
is "... in the copy for HTA, too" \
	"$(gzip -dc hta/*.gz | grep -o '"est. achieved occupancy %": *[0-9]*' | tr -dc 0-9)" 13
sed "1a device${tab}id=0${tab}max_smem_optin=0" big.replay >silent.replay
train silent TRAINPROF_PROGRAM=replay TRAINPROF_STEP=mark TRAINPROF_SCHEDULE=always \
	LD_LIBRARY_PATH="$FAKES/13.0:$FAKES" timeout 100 "$replay" silent.replay
is "a driver that does not tell: nothing is said, not 0" \
	"$status $("$O/tests/progs/tptdump" silent/*.tpt | grep -c block_shared_optin)" "0 0"

done_testing
