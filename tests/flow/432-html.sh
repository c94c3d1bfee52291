#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof-merge -f html, as a file: what its policy allows, that its data are data whatever a
# trace says, that its figures are those of the rows. 434-html-page.sh opens it in a browser.

. "$(dirname "$0")/lib/lib.sh"
flow=$TOP/tests/flow/lib
cd "$TMP" || exit 1

check()
{
	"$PYTHON" "$flow/html_check.py" "$@"
}

"$PYTHON" "$flow/kineto_synth.py" synth.json.gz new
fuse synth -f html -o synth.html synth.json.gz
is "exit status" "$status" 0
like "what to do with it" "$(cat synth.out)" '^wrote synth.html; open it in a browser$'
fuse rows -q -f jsonl -v overview,operator,kernel,memory,steps --top 0 synth.json.gz
ok "its policy, its data, its figures" check synth.html rows.out
ok "well under a few MB" test "$(wc -c <synth.html)" -lt 1000000

# Its code runs, its tables have what the texts have; how it looks is 434-html-page.sh's.
if command -v node >/dev/null; then
	for view in operator kernel trace; do
		fuse "$view" -q -v "$view" --top 300 synth.json.gz
	done
	fuse steps -q -v steps --top 0 synth.json.gz
	ran=$(node "$flow/html_dom.js" synth.html operator=operator.out kernel=kernel.out trace=trace.out \
		steps=steps.out 2>&1)
	is "its code: exit status" "$?" 0
	like "rows as the texts have them" "$ran" '^[1-9][0-9]+ lines compared$'
	sed '/id="data-views"/s/,\([1-9][0-9]\{5,\}\),/,1\1,/g' synth.html >other.html
	like "that a figure is off is found" "$(node "$flow/html_dom.js" other.html operator=operator.out)" \
		'not on the page'
else
	skip "the page's code" "no node (make setup)"
fi

# Names that would be more than names; the file's own is one.
evil='<img src=x onerror=window.hacked=6>.json'
"$PYTHON" "$flow/html_hostile.py" synth.json.gz "$evil"
fuse evil -q -f html -o evil.html "$evil"
is "hostile names: exit status" "$status" 0
ok "hostile names stay text" check evil.html
ok "a name of a megabyte is cut" test "$(wc -c <evil.html)" -lt 1000000

# That the check can fail.
sed 's/\\u003c/</' evil.html >open.html
like "markup in data is found" "$(check open.html 2>&1)" 'markup in it|does not know|JSONDecodeError'
sed "s/class Page/class  Page/" synth.html >other.html
like "a script of somebody else is found" "$(check other.html)" 'a script that the policy does not know'
sed '/id="data-views"/s/,\([1-9][0-9]\{5,\}\),/,1\1,/g' synth.html >off.html
like "a figure that is off is found" "$(check off.html rows.out)" '^[a-z_]+: \{'

# Two runs: the difference is in it, too. Where nothing was recorded there is still a page.
fuse diff -q -f html -o diff.html --compare synth.json.gz synth.json.gz
is "with another run: exit status" "$status" 0
ok "with another run" check diff.html
ok "the view of the difference" grep -q '"name":"diff"' diff.html
fuse none -q -f html -o none.html --steps 9999 synth.json.gz
is "nothing of it asked for: exit status" "$status" 0
ok "nothing of it asked for" check none.html
fuse full -q -f html -o /dev/full synth.json.gz
is "a full disk: exit status" "$status" 1
done_testing
