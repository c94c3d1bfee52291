#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 900
#
# The page of trainprof-merge -f html in a headless browser, opened from its file: every view, by
# the keyboard; zoom, ranks, sorting; its figures against the texts; hostile names; narrow, dark,
# on paper. Pictures are left in build/html.

. "$(dirname "$0")/lib/lib.sh"
need_torch
command -v node >/dev/null || skip_all "no node (make setup)"
browser=$(command -v chromium || command -v chromium-browser) || skip_all "no chromium (make setup-long)"
flow=$TOP/tests/flow/lib
shots=$O/html
mkdir -p "$shots"
port=$((29100 + RANDOM % 800))

# look NAME [VIEW=TEXT..]: opens $TMP/NAME.html, by another name; what it found is in $found
look()
{
	local name=$1
	shift
	mv "$TMP/$name.html" "$TMP/the page of $name #1.html"
	found=$(timeout 290 node "$flow/html_page.js" "$TMP/the page of $name #1.html" "$shots/$name" "$browser" "$@" \
		2>"$TMP/$name.look")
	is "$name: looked at to the end" "$?" 0
	diag "$(cut -c 1-300 "$TMP/$name.look" | head -n 12)"
	diag "$name: $(sayings 'milliseconds to ready') ms until it can be read"
}

# sayings NAME: what html_page.js said of it
sayings()
{
	printf '%s\n' "$found" | sed -n "s/^$1: //p"
}

# always NAME: what is true of every page
always()
{
	is "$1: opens" "$(sayings ready)" true
	is "$1: tabs have the focus behind the link to the figures" "$(sayings 'second stop of the focus')" tab
	is "$1: Home" "$(sayings Home)" tab-overview
	unlike "$1: every view has something to say, and fits" "$found" \
		'almost empty|wider than the window|another panel'
	is "$1: sorted by a click" "$(sayings 'sorted by calls') $(sayings aria-sort)" 'true descending'
	is "$1: searched" "$(sayings searched)" true
	is "$1: flame graph by keys" "$(sayings 'flame graph') $(sayings 'flame graph zoomed')" 'true true'
	is "$1: ... and back" "$(sayings 'flame graph after Escape')" true
	is "$1: timeline" "$(sayings 'timeline drawn') $(sayings 'timeline zoomed')" 'true true'
	is "$1: at 390, 800 and 1400 pixels" "$(sayings 'does not fit')" none
	is "$1: no word is broken in a cell" "$(sayings 'words broken')" none
	is "$1: contrast in both themes" "$(sayings 'contrast under 4.5')" none
	is "$1: every control has a name" "$(sayings 'controls without a name')" none
	is "$1: the focus goes down the page" "$(sayings 'stops of the focus')" 'in order'
	is "$1: spans have the legend's colours" "$(sayings "colours that are not the legend's")" none
	is "$1: cells of maps, too" "$(sayings 'colours of the maps of ranks'), $(sayings 'colours of the strip of steps')" \
		'in their legends, in their legends'
	is "$1: a span that is clicked" "$(sayings 'what was clicked')" true
	is "$1: ... searched, and zoomed by the wheel" \
		"$(sayings 'found in the step') $(sayings 'zoomed by the wheel')" 'true true'
	is "$1: from a row to its span, and back" \
		"$(sayings 'a row leads to its span') $(sayings 'a span leads to its row')" 'true true'
	is "$1: from span to span by the keys" "$(sayings 'from span to span by keys')" true
	is "$1: tables without the script" "$(sayings 'rows without the script')" true
	is "$1: ... and where a site's policy forbids it" "$(sayings 'rows where a policy forbids the script')" true
	is "$1: dark" "$(sayings dark)" 'rgb(15, 19, 24)'
	is "$1: every view on paper" "$(sayings 'on paper')" true
	is "$1: nothing of a trace ran" "$(sayings hacked) $(sayings 'elements that are not ours')" \
		'undefined 0'
	is "$1: no network" "$(sayings requests)" 0
	is "$1: no error on the console" "$(sayings 'errors on the console')" 0
}

# Two ranks, one of them late.
train late TRAINPROF_RECORD=ops,shapes,tensors,host TRAINPROF_HOST_PERIOD=10 \
	TRAINPROF_SCHEDULE=wait=2,warmup=1,active=8 \
	"$PYTHON" -m torch.distributed.run --nproc_per_node 2 --master_port "$port" \
	"$PROGS/late_rank.py" --late host
is "two ranks: exit status" "$status" 0
fuse late -q -f html -o "$TMP/late.html" "$TMP/late"
is "two ranks: merge" "$status" 0
views=()
for view in overview operator memory comm steps; do
	fuse "late-$view" -q -v "$view" --top 0 "$TMP/late"
	views+=("$view=$TMP/late-$view.out")
done
# The page has each block, for its zoom; the text has like ones in one row.
sed -i '/^Which blocks of tensors are the largest/,/^$/d' "$TMP/late-memory.out"
look late "${views[@]}"
always late
for view in overview operator memory comm steps; do
	is "late: $view: every line of the text is on the page" "$(sayings "$view: lines missing")" 0
	ok "late: $view: ... and there are some" test "$(sayings "$view: lines compared")" -gt 2
done
like "late: the rank that was switched to" \
	"$(grep -E '^ *rank 1 ' "$TMP/late-overview.out")" "$(sayings 'average step of rank 1')"
if grep -q 'NAME="Dygraph"' "$TMP/the page of late #1.html"; then
	is "late: the memory curve zooms, by mouse and keys" \
		"$(sayings 'memory zoomed') $(sayings 'memory by keys')" 'true true'
	is "late: ... with it the tables" \
		"$(sayings 'memory: rows while zoomed') $(sayings 'memory after Escape')" 'true true'
else
	skip "late: the memory curve zooms" "built without the chart library (make setup)"
fi
is "late: a curve ends with its window, and begins with the next one" \
	"$(sayings 'gaps between windows')" '[[3,11]]'
is "late: the map of ranks and steps" "$(sayings 'heat map cells')" 16
is "late: a cell leads to its step" "$(sayings 'a cell leads to its step')" 'view-timeline rank 1, step 10'
is "late: a flame graph of each rank" "$(sayings 'flame graph of one rank')" true

# GPU, and names that would be more than names.
"$PYTHON" "$flow/kineto_synth.py" "$TMP/gpu.json.gz" new
"$PYTHON" "$flow/html_hostile.py" "$TMP/gpu.json.gz" "$TMP/<img src=x onerror=window.hacked=6>.json"
fuse gpu -q -f html -o "$TMP/gpu.html" "$TMP/gpu.json.gz"
fuse gpu-kernel -q -v kernel --top 300 "$TMP/gpu.json.gz"
fuse gpu-trace -q -v trace --top 300 "$TMP/gpu.json.gz"
fuse hostile -q -f html -o "$TMP/hostile.html" "$TMP/<img src=x onerror=window.hacked=6>.json"
look gpu "kernel=$TMP/gpu-kernel.out" "trace=$TMP/gpu-trace.out"
always gpu
is "gpu: kernels as in the text" "$(sayings 'kernel: lines missing')" 0
is "gpu: the step's tree as in the text" "$(sayings 'trace: lines missing')" 0
ok "gpu: ... and there is one" test "$(sayings 'trace: lines compared')" -gt 10
look hostile
always hostile
done_testing
