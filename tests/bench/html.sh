#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# html.sh - the page of a run: how long it takes to make, its size, how soon it can be read
#
# usage: html.sh   (with O, MERGE, PYTHON, TMP; FILES=8 EVENTS=800000 LAYERS=438: 200,000 events a step)
#
# Beside it the merge to compressed JSON, over the same events. Goals: at most 128 MiB, 5 MB, 1 s from
# opening the file until the first view stands, 60 frames a second while the timeline is zoomed (headless
# Chromium, where there is one).

set -eu
folder=$TMP/html
"$O/tests/bench/gen_traces" "$folder" "${FILES:-8}" "${EVENTS:-800000}" 3 gpu "${LAYERS:-438}"
for format in chrome html; do
	for round in 1 2 3; do
		"$PYTHON" - $format $round "$MERGE" -q -f $format -o "$TMP/result.$format" "$folder" <<-'EOT'
			import resource, subprocess, sys, time
			begin = time.monotonic()
			subprocess.run(sys.argv[3:], check=True)
			print("%s, round %s: %.2f s, %d KiB" % (sys.argv[1], sys.argv[2], time.monotonic() - begin,
			      resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
		EOT
	done
done
printf 'page: %s bytes\n' "$(wc -c <"$TMP/result.html")"
browser=$(command -v chromium || command -v chromium-browser || true)
if [ -n "$browser" ] && command -v node >/dev/null; then
	for round in 1 2 3; do
		printf 'round %s: ' "$round"
		node tests/flow/lib/html_page.js "$TMP/result.html" - "$browser" | grep milliseconds
	done
fi
rm -rf "$folder" "$TMP"/result.*
