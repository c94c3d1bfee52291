#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh - names of addresses of libtorch and of Python: places a second, beside eu-addr2line
#
# usage: symbols.sh   (with O, TMP, PYTHON; PLACES=200000 RIVAL=200)
#
# Addresses are spread evenly over a file's code. The rival reads the first RIVAL of them: it
# looks at every symbol for each, so all would take hours. Its peak memory stands beside ours.
# Goal: 200,000 places of libtorch within a few seconds.

set -eu
n_places=${PLACES:-200000}
n_rival=${RIVAL:-200}
torch=$("$PYTHON" -c 'import os, torch
print(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))' 2>/dev/null || true)
interpreter=$("$PYTHON" -c 'import os, sys, sysconfig
path = os.path.join(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY"))
print(path if path.endswith(".so") and os.path.exists(path) else os.path.realpath(sys.executable))')

for file in $torch $interpreter; do
	"$PYTHON" - "$file" "$n_places" >"$TMP/places.list" <<-'EOF_LIST'
	import random, re, subprocess, sys

	text = subprocess.run(["readelf", "-SW", sys.argv[1]], capture_output=True, text=True).stdout
	begin, size = re.search(r" \.text +PROGBITS +(\w+) \w+ (\w+)", text).groups()
	random.seed(1)
	for _ in range(int(sys.argv[2])):
	    print("0x%x" % (int(begin, 16) + random.randrange(int(size, 16))))
	EOF_LIST
	echo "$(basename "$file"): $(($(stat -Lc %s "$file") >> 20)) MiB, $n_places addresses"
	for round in 1 2 3; do
		printf 'ours, round %s: ' $round
		"$O/tests/progs/places" -n "$file" <"$TMP/places.list" | grep -v '^trouble'
	done
	if command -v eu-addr2line >/dev/null; then
		head -n "$n_rival" "$TMP/places.list" >"$TMP/rival.list"
		"$PYTHON" - "$file" "$TMP/rival.list" <<-'EOF_RIVAL'
		import resource, subprocess, sys, time

		begin = time.monotonic()
		with open(sys.argv[2]) as places:
		    subprocess.run(["eu-addr2line", "-f", "-i", "-C", "-e", sys.argv[1]], stdin=places,
		                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		spent = time.monotonic() - begin
		n = sum(1 for _ in open(sys.argv[2]))
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
		print("eu-addr2line: %d places, %.2f s, %.0f places/s, peak %d MiB" % (n, spent, n / spent, peak))
		EOF_RIVAL
	fi
done
rm -f "$TMP/places.list" "$TMP/rival.list"
