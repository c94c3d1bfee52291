#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two hosts on one machine: network namespaces with a delay between them, time namespaces in which
# CLOCK_MONOTONIC is hours apart, another boot id. A real training of two ranks; what the merge
# finds is compared with the truth: the kernel's clock below both is one. And two namespaces
# of one boot, which share a clock that only looks different.

. "$(dirname "$0")/lib/lib.sh"
need_torch

shift_s=5000
net=tp$$
ends=("$net-a" "$net-b")

remove()
{
	ip netns del "${ends[0]}" 2>/dev/null
	ip netns del "${ends[1]}" 2>/dev/null
	true
}

if [ "$(id -u)" != 0 ] || ! command -v ip >/dev/null ||
	! unshare --mount --time --monotonic 1 --fork true 2>/dev/null ||
	! ip netns add "${ends[0]}" 2>/dev/null; then
	skip_all "no root, no ip, or no network and time namespaces here"
fi
trap remove EXIT
ip netns add "${ends[1]}"
ip link add "$net.a" netns "${ends[0]}" type veth peer name "$net.b" netns "${ends[1]}"
for i in 0 1; do
	link=$net.$([ $i = 0 ] && echo a || echo b)
	ip -n "${ends[i]}" addr add "10.93.7.$((i + 1))/24" dev "$link"
	ip -n "${ends[i]}" link set lo up
	ip -n "${ends[i]}" link set "$link" up
	# Another delay each way: half of a round trip is not the truth.
	ip netns exec "${ends[i]}" tc qdisc add dev "$link" root netem delay \
		"$([ $i = 0 ] && echo 300us || echo 900us)" 2>/dev/null ||
		diag "this kernel has no netem: no delay from host $i"
done
echo 0b5e55ed-0000-4000-8000-00000000beef >"$TMP/boot"

# rank NAME RANK HIDE [VARIABLE=VALUE...]: on the host of its number; HIDE: as another boot would be.
# Clocks are exchanged from the warm-up on, every 20 ms: it is long enough for that also where steps take 2 ms and
# the threads that record get no processor for a while.
rank()
{
	local name=$1 rank=$2 hide=$3 by=0
	shift 3
	[ "$rank" = 0 ] || by=$shift_s
	# shellcheck disable=SC2016 # the inner shell's own process number
	ip netns exec "${ends[rank]}" env RANK="$rank" LOCAL_RANK=0 NODE_RANK="$rank" WORLD_SIZE=2 \
		MASTER_ADDR=10.93.7.1 MASTER_PORT=29577 \
		GLOO_SOCKET_IFNAME="$net.$([ "$rank" = 0 ] && echo a || echo b)" \
		TRAINPROF_DIR="$TMP/$name" TRAINPROF_RECORD=ops "$@" \
		TRAINPROF_SCHEDULE=wait=2,warmup=200,active=8 HIDE="$hide" BOOT="$TMP/boot" LIB="$LIB" \
		unshare --mount --time --monotonic "$by" --fork sh -c '
		[ "$HIDE" = 0 ] || {
			mount --bind "$BOOT" /proc/sys/kernel/random/boot_id
			mount --bind /dev/null /proc/$$/timens_offsets
		}
		LD_PRELOAD=$LIB exec "$0" "$@"' "$PYTHON" "$PROGS/late_rank.py" --steps 212 \
		>"$TMP/$name$rank.out" 2>"$TMP/$name$rank.err"
}

# two NAME HIDE [VARIABLE=VALUE...]
two()
{
	local name=$1 hide=$2 other
	shift 2
	rank "$name" 0 0 "$@" &
	other=$!
	rank "$name" 1 "$hide" "$@"
	status=$?
	is "$name: exit status of rank 1" "$status" 0
	wait "$other"
	is "$name: exit status of rank 0" $? 0
	fuse "$name-health" -q -v health -f chrome -o "$TMP/$name.json" "$TMP/$name"
	is "$name: merge" "$status" 0
	for i in 0 1; do
		"$O/tests/progs/tptdump" "$TMP/$name/rank$i.0.tpt" >"$TMP/$name$i.dump"
	done
}

# The same events in the merged timeline and on the kernel's clock.
truth()
{
	"$PYTHON" - "$TMP/$1.json" "$TMP/${1}0.dump" "$TMP/${1}1.dump" $shift_s "$2" <<-'EOP'
	import json, sys

	NAME = "Optimizer.step#SGD.step"
	merged = json.load(open(sys.argv[1]))["traceEvents"]
	shift, most_ns = int(sys.argv[4]) * 10**9, float(sys.argv[5])
	of_rank = {e["args"]["value"]: e["pid"] for e in merged if e["name"] == "global_rank"}
	bounds = [float(e["args"]["value"]) * 1000 for e in merged
	          if e["name"] == "clock_sync_error_bound"]
	shown, true = [], []
	for rank in (0, 1):
	    shown.append(sorted(float(e["ts"]) * 1000 for e in merged if e["name"] == NAME
	                        and e["ph"] == "X" and e["pid"] == of_rank[rank]))
	    lines = [line.split("\t") for line in open(sys.argv[2 + rank])]
	    true.append(sorted(int(l[2]) - rank * shift for l in lines
	                       if l[0] == "EVENT" and l[6] == NAME))
	assert len(bounds) == 2 and all(len(x) == 8 for x in shown + true), (bounds, shown, true)
	off = max(abs((b - a) - (d - c)) for a, b, c, d in zip(*shown, *true))
	print("off by %.0f ns, said: +- %.0f ns" % (off, max(bounds)))
	assert off <= max(bounds) + 10, "outside of the bound"
	assert max(bounds) <= most_ns, "a bound that is of no use"
	EOP
}

two hosts 1 TRAINPROF_CLOCK_SYNC=on
ok "two hosts: the offset is inside the bound" truth hosts 20e6
like "two hosts: by what" "$(cat "$TMP/hosts-health.out")" \
	'clocks +2 hosts by [0-9]+ collectives and [0-9]+ exchanges, \+-'
unlike "two hosts: no causality violation is left" "$(cat "$TMP/hosts-health.out")" \
	'before alignment, [1-9]|not bounded|contradict'

two one 0 TRAINPROF_CLOCK_SYNC=10.93.7.1:29600
ok "two namespaces of one boot: one clock" truth one 5000
unlike "two namespaces of one boot: nothing to compare" "$(cat "$TMP/one-health.out")" 'hosts by'

if [ "${LONG:-}" = 1 ]; then
	two silent 1
	ok "two hosts, by collectives alone: inside the bound" truth silent 50e6
	like "by what" "$(cat "$TMP/silent-health.out")" 'clocks +2 hosts by [0-9]+ collectives, '
fi
done_testing
