#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# merge.sh - events a second of the merge: ordering alone, to JSON, to compressed JSON
#
# usage: merge.sh   (with O, TMP; FILES=8 EVENTS=1000000)
#
# Results go to /dev/null: a disk is not what is measured. Goals: order >= 15 M events/s,
# JSON >= 2 M, at most 64 MiB however large the run is (a second run, of a quarter of the
# size, shows that).

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
rm -rf "$folder"
