#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# Four ranks, each in a network namespace of its own, one of which has a network that is 5 ms slower
# (tc netem), or where the kernel has no netem, 1 Mbit/s fast (a token bucket): it is named, and its
# network is. When none is slow, none is named.

. "$(dirname "$0")/lib/lib.sh"
need_torch

# Everything in a network of its own, which ends with this script.
if [ "${INSIDE:-}" != 1 ]; then
	command -v tc >/dev/null || skip_all "no tc (make setup-long: iproute2)"
	unshare --net --mount bash -c 'mount -t tmpfs none /run && ip link add br0 type bridge &&
		tc qdisc add dev lo root tbf rate 8mbit burst 1600 latency 1s' 2>/dev/null ||
		skip_all "no network namespaces with tc here: not root, or no such kernel"
	INSIDE=1 exec unshare --net --mount bash "$0"
fi
mount -t tmpfs none /run
ip link add br0 type bridge
ip link set br0 up
for r in 0 1 2 3; do
	ip netns add "r$r"
	ip link add "v$r" type veth peer name eth0 netns "r$r"
	ip link set "v$r" master br0 up
	ip -n "r$r" addr add "10.9.0.$((r + 1))/24" dev eth0
	ip -n "r$r" link set eth0 up
	ip -n "r$r" link set lo up
done

# ranks NAME MODE
ranks()
{
	local r
	for r in 0 1 2 3; do
		ip netns exec "r$r" env LD_PRELOAD="$LIB" TRAINPROF_DIR="$TMP/$1" \
			TRAINPROF_SCHEDULE=wait=2,warmup=1,active=6 RANK="$r" WORLD_SIZE=4 \
			MASTER_ADDR=10.9.0.1 MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 \
			"$PYTHON" "$PROGS/job_dist.py" "$2" >"$TMP/$1.$r" 2>&1 &
	done
	wait
	fuse "$1-comm" -q -v comm "$TMP/$1"
	is "$1: merge" "$status" 0
	diag "$(head -8 "$TMP/$1-comm.out")"
}

for mode in ring mesh; do
	ranks "even-$mode" "$mode"
	unlike "$mode, all alike: nobody is named" "$(cat "$TMP/even-$mode-comm.out")" \
		'is the straggler:'
done
ip netns exec r2 tc qdisc add dev eth0 root netem delay 5ms 2>/dev/null ||
	{
		ip netns exec r2 tc qdisc add dev eth0 root tbf rate 1mbit burst 1600 latency 5s
		tc qdisc add dev v2 root tbf rate 1mbit burst 1600 latency 5s
	}
# A token bucket holds back what is sent: both ways then.
ranks slow-mesh mesh
like "mesh: the rank with the slow network" "$(cat "$TMP/slow-mesh-comm.out")" \
	'^rank 2 is the straggler: transfers with it take longer, '
like "mesh: its network" "$(cat "$TMP/slow-mesh-comm.out")" '^  cause: its network, '
done_testing
