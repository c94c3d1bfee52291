#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# merge.sh - events a second of the merge: ordering alone, to JSON, to compressed JSON; what each
# view takes; and how all of it goes with the number of ranks
#
# usage: merge.sh   (with O, TMP; FILES=8 EVENTS=1000000)
#
# Results go to /dev/null: a disk is not what is measured. Goals: order >= 15 M events/s,
# JSON >= 2 M, at most 64 MiB however large the run is (a second run, of a quarter of the
# size, shows that). Views of 8 M events, without and with a device: <= 10 s and <= 128 MiB each; all of them at
# once, and the page: <= 2x the CPU and <= 1.5x the memory of the dearest. RANKS ranks of 200,000 events:
# >= 2 M events/s in <= 256 MiB, and the cost of an event no more than logarithmic.

set -eu
folder=$TMP/merge
files=${FILES:-8}
events=${EVENTS:-1000000}
"$O/tests/bench/gen_traces" "$folder" "$files" "$events" 2
"$O/tests/bench/gen_traces" "$folder/quarter" "$files" "$((events / 4))" 2
mkdir "$folder/all"
mv "$folder"/rank* "$folder/all"
for part in all quarter; do
	printf '%s: %s bytes\n' "$part" "$(cat "$folder/$part"/*.tpt | wc -c)"
done
ln -s /dev/null "$folder/null.json.gz"
for round in 1 2 3; do
	echo "round $round"
	"$O/tests/bench/merge_pass" order "$folder/all"
	"$O/tests/bench/merge_pass" json "$folder/all" /dev/null
	printf 'gzip: '
	"$O/tests/bench/merge_pass" json "$folder/all" "$folder/null.json.gz"
done
echo "a quarter of the events:"
"$O/tests/bench/merge_pass" json "$folder/quarter" "$folder/null.json.gz"
"$O/tests/bench/gen_traces" "$folder/gpu" "$files" "$events" 2 gpu
for part in all gpu; do
	echo "views of $part:"
	views=overview,operator,kernel,memory,comm,module,trace,steps,health
	for view in $(echo "$views" | tr , ' ') "$views"; do
		/usr/bin/time -f "$view: wall %e s, cpu %U + %S s, RSS %M KiB" \
			"$MERGE" -q -v "$view" "$folder/$part" >/dev/null
	done
	for format in folded html; do
		/usr/bin/time -f "-f $format: wall %e s, cpu %U + %S s, RSS %M KiB" \
			"$MERGE" -q -f "$format" -o "$folder/$part.$format" "$folder/$part"
	done
done
rm -rf "$folder"
for ranks in ${RANKS:-8 64 512}; do
	"$O/tests/bench/gen_traces" "$folder" "$ranks" 200000 2
	for round in 1 2; do
		"$O/tests/bench/merge_pass" order "$folder"
	done
	"$O/tests/bench/merge_pass" json "$folder" /dev/null
	/usr/bin/time -f "node file: wall %e s, cpu %U + %S s, RSS %M KiB" \
		"$MERGE" -q -f tpn -o "$folder/node0.tpn" "$folder"
	rm -rf "$folder"
done
