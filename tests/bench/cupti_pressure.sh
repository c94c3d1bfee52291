#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cupti_pressure.sh - a device that makes more records than anybody takes: how many are written, how
# many are counted as lost, and how much memory that takes
#
# usage: make bench T=cupti_pressure     (gives O, LIB, TMP)
#
# The first run, without the library, shows how fast the stand-in could make them.

set -eu
guest=$O/tests/bench/cupti_pressure
fakes=$O/tests/fakes
[ -e "$fakes/libcuda.so.1" ] || { echo "no stand-ins for CUDA (make fakes)"; exit 0; }
echo "alone:"
LD_LIBRARY_PATH=$fakes "$guest" 20000 2 | sed 's/^/  /'
for calls in 20 40000; do
	rm -rf "$TMP/pressure"
	echo "with the library, $calls calls of 200 kernels on each of two threads:"
	LD_LIBRARY_PATH=$fakes FAKE_CUPTI_DELIVER=now LD_PRELOAD=$LIB TRAINPROF_RECORD=cuda \
		TRAINPROF_PROGRAM=cupti_pressure TRAINPROF_SCHEDULE=always \
		TRAINPROF_DIR="$TMP/pressure" "$guest" $calls 2 | sed 's/^/  /'
	"$O/tests/progs/tptdump" "$TMP/pressure/rank0.0.tpt" |
		sed -n 's/^END	\(cupti\.[a-z_.]*=[0-9]*\|drain_cpu_ns=.*\)$/  \1/p'
done
echo "(caps: 32 MiB for CUPTI's buffers, 32 MiB of ring)"
