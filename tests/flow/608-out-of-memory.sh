#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An allocation that fails, of torch, of Python, of a device: who asked, for how much, what was held, before
# the program hears of it; and the program goes on as without us. Outside of windows.

. "$(dirname "$0")/lib/lib.sh"
need_torch
cd "$TMP" || exit 1

# fails HOW DEVICE FUNCTION
fails()
{
	bare "bare-$1" "$PYTHON" "$PROGS/out_of_memory.py" "$1"
	train "$1" TRAINPROF_SCHEDULE=wait=1000 "$PYTHON" "$PROGS/out_of_memory.py" "$1"
	is "$1: the program sees what it sees without us" "$status $(cat "$1.out")" "0 $(cat "bare-$1.out")"
	is "$1: three lines" "$(messages_of "$1" | wc -l)" 3
	like "$1: who asked, for how much" "$(messages_of "$1")" \
		"out of memory on $2: [0-9]{10,} bytes requested \\([0-9.]+ GiB\\) in $3 \\(out_of_memory.py:[0-9]+\\), step 20\$"
	like "$1: what was held, and its limit" "$(messages_of "$1")" \
		'tensors on the host [0-9.]+ MiB, .* its addresses [0-9.]+ [MG]iB of [0-9.]+ [MG]iB'
	like "$1: what grew" "$(messages_of "$1")" 'tensors grew by 15\.[0-9] MiB in the last 15 steps$'
	like "$1: the stack" "$(cat "$1"/*.oom)" "^    $3 \\(.*/out_of_memory.py:[0-9]+\\)\$"
	is "$1: the last steps" "$(grep -c '^step [0-9]*: tensors' "$1"/*.oom)" 16
	fuse "$1.merged" -q -v overview,health -o merged.json "$1"
	like "$1: the overview begins with it" "$(head -4 "$1.merged.out")" "MEMORY +out of memory on $2: [0-9]+ bytes requested"
}
fails tensor "the host" grow_tensor
fails bytes "the host" grow_bytes
fails device cuda:2 report_device
like "a device's allocator tells what it holds, and what lies idle" "$(messages_of device)" \
	'allocated 70\.0 GiB, reserved 75\.0 GiB, reserved and not in use 5\.0 GiB'

like "outside windows no holder is known, and the file says why" "$(messages_of tensor; cat tensor/*.oom)" \
	'no holders are known: no step is recorded, TRAINPROF_RECORDER=steps=8 does$'

# In a window: who held it, at the time from the records that the drain thread has seen.
train window TRAINPROF_SCHEDULE=always "$PYTHON" "$PROGS/out_of_memory.py" tensor
fuse window.merged -q -v overview -o merged.json window
like "in a window the overview names holders by category, operator and line" "$(tr -s ' \n' ' ' <window.merged.out)" \
	'held then .*MiB \([0-9.]+ %\) [a-z ]+, allocated by aten::[a-z_]+, [^ ]*out_of_memory.py:[0-9]+ train'

like "the process says so itself, on stderr" "$(messages_of window)" \
	'held by (19|20)\.0 MiB \([0-9.]+ %\) kept across steps, allocated by aten::zeros, train \(out_of_memory.py:28\); '
like "and in the report, with the number of blocks" "$(cat window/*.oom)" \
	'^    (19|20)\.0 MiB .* kept across steps, allocated by aten::zeros, train \(/.*/out_of_memory.py:28\), (19|20) blocks$'

# The trace is gone, or was never written: the report's holders are what the merge has.
train recorder TRAINPROF_SCHEDULE=wait=1000 TRAINPROF_RECORDER=steps=8 "$PYTHON" "$PROGS/out_of_memory.py" tensor
rm recorder/*.tpt
fuse recorder.merged -q -v overview,health -o merged.json recorder
is "without records the merge shows the report's holders in both views" "$(tr -s ' \n' ' ' <recorder.merged.out |
	grep -o 'held by [0-9.]* MiB ([0-9.]* %) kept across steps, allocated by aten::zeros, train (out_of_memory.py:28)' |
	wc -l)" 2

train later TRAINPROF_SCHEDULE=skip_first=2,wait=0,warmup=0,active=5,repeat=1 "$PYTHON" "$PROGS/out_of_memory.py" tensor
like "after a window what was seen in it is old" "$(messages_of later)" 'no holders are known \(no step is recorded'

# Without tensors there is nothing to say, which is said.
train none TRAINPROF_SCHEDULE=always TRAINPROF_RECORD=ops "$PYTHON" "$PROGS/out_of_memory.py" tensor
like "recorded without tensors: no holders, and why" "$(messages_of none)" \
	'no holders are known \(recorded without tensors\); the stack and the last steps are in'

# The report is in a node file, stack and all, also in one that is made of one.
fuse node -q -f tpn -o one.tpn tensor
fuse node.again -q -f tpn -o two.tpn one.tpn
for file in one two; do
	fuse node.$file -q -v overview -o merged.json $file.tpn
	like "$file.tpn: the merge says what it says of the folder" "$(head -4 node.$file.out)" \
		'MEMORY +out of memory on the host: [0-9]+ bytes requested'
done
fuse node.both -q -v health -o merged.json two.tpn tensor
is "each report once, given by both" "$(grep -c 'out of memory on' node.both.out)" 1

train tensor TRAINPROF_OVERWRITE=1 TRAINPROF_SCHEDULE=wait=1000 "$PYTHON" "$PROGS/out_of_memory.py" bytes
is "a report goes with the run that it is of" "$(find tensor -name '*.oom' | wc -l)" 1

# group FOLDER: a control group of 1 GiB there.
group()
{
	mkdir "$1" 2>/dev/null || return 1
	echo 1G 2>/dev/null >"$1/memory.max" || echo 1G 2>/dev/null >"$1/memory.limit_in_bytes" && return
	rmdir "$1"
	return 1
}

of_group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -n "$of_group" ] || ! group "$root/trainprof-test-$$" || of_group=$root/trainprof-test-$$
done
if [ -n "$of_group" ]; then
	# shellcheck disable=SC2016
	train near TRAINPROF_SCHEDULE=wait=100000 TRAINPROF_RECORDER=steps=4 sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' \
		"$of_group" "$PYTHON" "$PROGS/out_of_memory.py" "$of_group"
	is "a container that is nearly full: the program goes on" "$status" 0
	is "said once" "$(messages_of near | wc -l)" 1
	like "who has how much of it" "$(messages_of near)" \
		'nearly out of memory, step [0-9]+, memory of the container [0-9.]+ MiB of 1.0 GiB, memory of the process [0-9.]+ [MG]iB, tensors on the host [0-9.]+ [MG]iB; when'
	is "the steps before it are recorded" "$(find near -name '*.tpt' | wc -l)" 1
	rmdir "$of_group"
else
	skip "a container that is nearly full" "no control group can be made here"
fi

done_testing
