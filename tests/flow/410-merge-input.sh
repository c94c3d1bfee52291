#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof-merge and what people give it: options with bad values, files that are damaged or
# something else, folders with loops, results that cannot be written. Always one clear line, the
# rest still merged, the right exit status.

. "$(dirname "$0")/lib/lib.sh"
gen=$O/tests/bench/gen_traces
if [ ! -x "$gen" ]; then
	make -s -C "$TOP" O="$O" CC="$CC" "$gen" >/dev/null 2>&1 || skip_all "no gen_traces"
fi
"$gen" "$TMP/run" 2 20000 >/dev/null

# expect DESCRIPTION STATUS PATTERN ARGUMENTS...: exit status, and a line of stderr.
expect()
{
	local what=$1 want=$2 pattern=$3
	shift 3
	fuse said "$@"
	is "$what: exit status" "$status" "$want"
	like "$what: message" "$(cat "$TMP/said.err")" "$pattern"
}

lines()
{
	wc -l <"$1" | tr -d ' '
}

# ---- options ----
while IFS='|' read -r what pattern arguments; do
	# shellcheck disable=SC2086 # words are wanted
	expect "option: $what" 2 "$pattern" $arguments
	is "option: $what: one line, nothing printed" \
		"$(lines "$TMP/said.err") $(lines "$TMP/said.out")" "1 0"
done <<'END'
unknown|unknown option '--frobnicate'|--frobnicate x
unknown letter|unknown option '-z'|-z x
no path|no path given|-q
value missing|option '-o' needs a value: FILE|x -o
value empty|option '--top' needs a value: N|--top= x
switch with value|option '--strict=1' takes no value|--strict=1 x
top|'many' is not a number for '--top'|--top many x
top negative|'-3' is not a number for '--top'|--top -3 x
sort|unknown key 'speed' for '--sort': keys are process, rule, .*'trainprof-merge --help-columns'|--sort speed x
sort, a key of another view|unknown key 'self' for '--sort': keys are process, collective|--sort self -v comm x
sort, no table|'--sort' needs '-v VIEW'|--sort calls -f perfetto x
an option of another view|'--by-stack' needs '-v operator'|--by-stack -v comm x
an option of a view, no view|'--by-grid' needs '-v kernel'|--by-grid x
limits, nothing to compare|'--fail-if' needs '--compare'|--fail-if step>5% x
diff, nothing to compare|'diff' needs '--compare PATH'|-v diff x
ranks|'a-b' is no list for '--ranks'|--ranks a-b x
ranks reversed|'5-2' is no list for '--ranks'|--ranks 5-2 x
windows|'1,,2' is no list for '--windows'|--windows 1,,2 x
steps|'9-' is no list for '--steps'|--steps 9- x
steps huge|'99999999999999999999' is no list for '--steps'|--steps 99999999999999999999 x
format|unknown format 'xml': formats are chrome, .*, jsonl; try|-f chrome,xml x
view|unknown view 'pie': views are overview, .*, health; try|-v overview,pie x
END
expect "two formats, one file" 2 "'-o .*' is one file" -f chrome,perfetto -o "$TMP/one.json" \
	"$TMP/run"

for option in --help --help-env --help-examples --version; do
	fuse said "$option"
	is "$option: exit status" "$status" 0
	is "$option: nothing on stderr" "$(lines "$TMP/said.err")" 0
done
like "--help-env names the variables" "$("$MERGE" --help-env)" 'TRAINPROF_SCHEDULE'
like "--help-env: ranges of values" "$("$MERGE" --help-env)" 'from [0-9]+[KMG]? to [0-9]+[KMG]?'

# ---- the cheat sheet: each line of the merge does what it says ----
mkdir -p "$TMP/sheet/yesterday"
for name in trainprof-run yesterday/trainprof-run base; do
	cp -r "$TMP/run" "$TMP/sheet/$name"
done
cat >"$TMP/sheet/trace.json" <<'END'
{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 7, "tid": 7, "ts": 10, "dur": 100},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 7, "ts": 20, "dur": 50}]}
END
gzip -c "$TMP/sheet/trace.json" >"$TMP/sheet/trace.pt.trace.json.gz"
n_lines=0
while IFS= read -r line; do
	# A running job answers, another machine takes files: 755, 758.
	case $line in *--ctl* | *--deliver*) continue ;; esac
	n_lines=$((n_lines + 1))
	(cd "$TMP/sheet" && eval "'$MERGE' ${line#trainprof-merge }") >"$TMP/sheet.out" 2>&1
	is "$line" "$?" 0
done < <("$MERGE" --help-examples | sed -n 's/.*  \(trainprof-merge .*\)/\1/p')
is "it fits a screen: rows, and columns of the widest" \
	"$("$MERGE" --help-examples | awk 'length > n { n = length } END { print NR <= 32, n <= 110 }')" "1 1"
ok "there are lines to try" test $n_lines -gt 10

# ---- defaults ----
fuse plain "$TMP/run"
is "without options: exit status" "$status" 0
is "without options: nothing on stderr, which is no terminal" "$(lines "$TMP/plain.err")" 0
like "without options: the overview" "$(cat "$TMP/plain.out")" 'Where a step goes'
ok "without options: node0.json.gz in the run folder, valid to gzip" gzip -t "$TMP/run/node0.json.gz"
is "without options: no temporary file stays" "$(find "$TMP/run" -name '*tmp*')" ""
rm "$TMP/run/node0.json.gz"
fuse view -v steps "$TMP/run"
is "-v alone writes no file" "$(find "$TMP/run" -name 'node*')" ""
fuse again -q -f chrome "$TMP/run"
before=$(zcat "$TMP/run/node0.json.gz" | sha256sum)
fuse again -q -f chrome "$TMP/run"
is "the same run gives the same file, its own results are no input" \
	"$(zcat "$TMP/run/node0.json.gz" | sha256sum)" "$before"

# events NAME: how many events the health view counts.
events()
{
	sed -n 's/^.*recorded .* \([0-9,]*\) events$/\1/p' "$TMP/$1.out" | tr -d ,
}
fuse all -v overview "$TMP/run"
n_all=$(events all)
fuse one -v overview --ranks 1 "$TMP/run"
n_one=$(events one)
ok "two ranks hold more than one" test "$n_all" -gt "$n_one"

# ---- inputs ----
bad=$TMP/bad
# damage NAME: a copy of the run in $bad, for something to be broken in.
damage()
{
	rm -rf "$bad"
	mkdir "$bad"
	cp "$TMP"/run/rank* "$bad"
}

# still DESCRIPTION PATTERN: rank 1 is merged, the message comes, --strict ends with 3.
still()
{
	expect "$1" 0 "$2" -v overview "$bad"
	is "$1: the other rank is all there" "$(events said)" "$n_one"
	fuse strict --strict -v health "$bad"
	is "$1: --strict" "$status" 3
}

damage; : >"$bad/rank0.0.tpt"
still "empty file" "'.*rank0.0.tpt': offset 0: .*empty"
damage; echo '{"traceEvents": []}' >"$bad/rank0.0.tpt"
still "JSON file" "'.*rank0.0.tpt': offset 0: .*JSON"
damage; gzip <"$bad/rank1.0.tpt" >"$bad/rank0.0.tpt"
still "gzip file" "'.*rank0.0.tpt': offset 0: .*gzip"
damage; printf '\2' | dd of="$bad/rank0.0.tpt" bs=1 seek=8 conv=notrunc status=none
still "another version (its checksum no longer fits)" "'.*rank0.0.tpt': offset 0: "
damage; head -c 100 "$TMP/run/rank0.0.tpt" >"$bad/rank0.0.tpt"
still "cut inside its head" "'.*rank0.0.tpt': offset 0: the file ends inside its head"

damage; head -c -3000 "$TMP/run/rank0.0.tpt" >"$bad/rank0.0.tpt"
expect "cut in the middle" 0 "'.*rank0.0.tpt': offset [0-9]+: the file ends inside a block" \
	-v overview "$bad"
ok "cut in the middle: its whole blocks are there" test "$(events said)" -gt "$n_one"
damage; printf XXXX | dd of="$bad/rank0.0.tpt" bs=1 seek=30000 conv=notrunc status=none
expect "bytes changed in a block" 0 "'.*rank0.0.tpt': offset [0-9]+: a block is damaged" \
	-v overview "$bad"
ok "bytes changed in a block: the others are there" test "$(events said)" -gt "$n_one"

damage; ln -s . "$bad/loop"; ln -s "$bad" "$bad/again"; ln -s nowhere "$bad/rank9.ring"
ln -s rank0.0.tpt "$bad/other-name.tpt"
expect "links in a loop, a file by two names, a ring that is gone" 0 "rank9.ring': .* gone" \
	-v overview "$bad"
is "links in a loop: each file once" "$(events said)" "$n_all"

# What is damaged shows when it is read: nobody may call such a run well without.
damage; printf '\377\377\377' | dd of="$bad/rank0.0.tpt" bs=1 conv=notrunc status=none \
	seek=$(($(wc -c <"$bad/rank0.0.tpt") / 2))
fuse said -q -v health "$bad"
like "a byte amidst a block: health says so" "$(cat "$TMP/said.out")" 'warnings: something is missing'
fuse said -q --strict -v steps "$bad"
is "a byte amidst a block: --strict, and a view that reads no events" "$status" 3
damage; rm -f "$bad"/*.steps
fuse said -q -v health "$bad"
like "no ledger: health says so" "$(cat "$TMP/said.out")" 'no step log .* of rank 0 and others'

damage; cp "$bad/rank0.0.tpt" "$bad/copy.tpt"
expect "a copy of a file" 0 "window 0 is in both" -v overview "$bad"
is "a copy of a file: each event once" "$(events said)" "$n_all"

damage; mkdir "$bad/a"; mkdir "$bad/a/b"; mv "$bad/rank0.0.tpt" "$bad/a/b/any name.bin"
fuse said -v overview "$bad"
is "templates with folders and other suffixes" "$(events said)" "$n_all"

if [ "$(id -u)" != 0 ]; then
	damage; chmod 0 "$bad/rank0.0.tpt"
	still "no permission" "'.*rank0.0.tpt': Permission denied"
else
	skip "no permission" "root may read everything"
fi

expect "nothing there" 1 "'$TMP/none': No such file or directory" "$TMP/none"
mkdir "$TMP/empty"
expect "an empty folder" 1 "nothing usable in '$TMP/empty': no trace .*LD_PRELOAD .*TRAINPROF_LOG=info" "$TMP/empty"
expect "nothing to compare with" 1 "nothing usable in '$TMP/empty'" --compare "$TMP/empty" "$TMP/run"
expect "nothing to compare with: no limit passed either" 1 "'$TMP/none': No such file" \
	--compare "$TMP/none" --fail-if 'step>5%' "$TMP/run"
expect "a device" 1 "'/dev/null': neither a file nor a folder" /dev/null
expect "a JSON given as a path" 1 "offset 0: not a trainprof trace: " "$TOP/README.md"

# ---- results ----
expect "no such folder for the result" 1 "cannot write '.*none/x.json': No such file" \
	-f chrome -o "$TMP/none/x.json" "$TMP/run"
expect "a full disk" 1 "cannot write '/dev/full': No space left on device" \
	-q -f chrome -o /dev/full "$TMP/run"
"$MERGE" -v steps --top 0 "$TMP/run" 2>"$TMP/pipe.err" >/dev/full
is "standard output is full: exit status" "$?" 1
like "standard output is full: message" "$(cat "$TMP/pipe.err")" \
	'cannot write to standard output: No space left'
(
	"$MERGE" -v steps --top 0 "$TMP/run" 2>"$TMP/pipe.err"
	echo $? >"$TMP/pipe.status"
) | true
is "a reader that goes away: no signal" "$(($(cat "$TMP/pipe.status") < 2))" 1
done_testing
