#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The checks of the sources refuse what they are there for: each gets a small tree that is right, and
# the same with one thing wrong.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1

# put FILE LINE...
put()
{
	mkdir -p "$(dirname "$1")"
	printf '%s\n' "${@:2}" >"$1"
}

# A tree of four floors, with a probe.
grow()
{
	rm -rf tree && mkdir tree && cd tree || exit 1
	mkdir scripts tests man
	put Makefile '# SPDX-License-Identifier: Apache-2.0'
	put runtime/base/text.h '/* text.h - */' '#include <zlib.h.not>'
	put runtime/trace/kinds.h '#include "runtime/base/text.h"'
	put runtime/engine/ring/ring.h '#include "runtime/trace/kinds.h"'
	put runtime/engine/intern.h '#include "runtime/engine/ring/ring.h"'
	put runtime/engine/window.h '#include "runtime/engine/intern.h"'
	put runtime/probe/host/host.c '#include "runtime/engine/ring/ring.h"' \
		'const struct tp_probe tp_host_probe = {'
	put runtime/probe/mark/mark.h ''
	put merge/kit/sums.h '#include "runtime/base/text.h"'
	put preload/main.c '	&tp_host_probe,'
	cd ..
}

# refused WHAT CHECK TREE WORDS: the check fails on the tree, and says so.
refused()
{
	local said

	if said=$("$TOP/scripts/$2" "$3" 2>&1); then
		fail "$1 is refused" "$said"
	else
		like "$1 is refused" "$said" "$4"
	fi
}

grow
ok "check-layers takes a tree whose includes go down" "$TOP/scripts/check-layers" tree
put tree/runtime/base/text.h '#include "runtime/trace/kinds.h"'
refused "an include of a higher floor" check-layers tree "which stands above it"
grow
put tree/runtime/probe/host/other.c '#include "runtime/probe/mark/mark.h"'
refused "one of a room beside" check-layers tree "a room of the same floor"
grow
put tree/runtime/probe/host/other.c '#include "merge/kit/sums.h"'
refused "one of the merge by the runtime" check-layers tree "of the other half|stands above"
grow
put tree/merge/kit/other.c '#include "runtime/engine/ring/ring.h"'
refused "one of the engine by the merge" check-layers tree "of the other half|stands above"
grow
put tree/runtime/engine/intern.h '#include "runtime/engine/window.h"'
refused "a circle of headers" check-layers tree "circle of headers: .*intern.h -> "
grow
put tree/runtime/engine/intern_kinds.c '#include "runtime/engine/window.h"'
refused "a circle of subjects" check-layers tree "circle of subjects: .*engine/intern -> "
grow
put tree/runtime/cellar/x.h ''
refused "a folder without a floor" check-layers tree "runtime/cellar is no room"
grow
for ((i = 0; i < 46; i++)); do put "tree/runtime/base/n$i.h" ''; done
refused "a full room" check-layers tree "runtime/base has 47 files"
grow
put tree/merge/kit/other.c '#include <libunwind.h>'
refused "a header of others in the wrong place" check-layers tree "belongs to runtime/probe/stack"
grow
put tree/preload/main.c ''
refused "a probe that nobody names" check-layers tree "does not name tp_host_probe"

mkdir functions
body() { for ((i = 0; i < $1; i++)); do printf '\tx();\n'; done; }
{ printf 'void f(void)\n{\n'; body 60; printf '}\n'; } >functions/right.c
ok "check-functions takes 60 lines" "$TOP/scripts/check-functions" "$TMP/functions"
{ printf 'static int g(int a,\n\t     int b)\n{\n'; body 61; printf '}\n'; } >functions/wrong.c
refused "a function of 61 lines" check-functions "$TMP/functions" "wrong.c:3: g has 61 lines"

# written WHAT WORDS LINE...: a file of these lines is refused.
written()
{
	rm -rf tree && mkdir -p tree/{preload,runtime/base,merge,scripts,tests,man}
	put tree/Makefile '# SPDX-License-Identifier: Apache-2.0'
	put tree/runtime/base/a.c "${@:3}"
	if [ -n "$2" ]; then
		refused "$1" check-format tree "$2"
	else
		ok "$1" "$TOP/scripts/check-format" tree
	fi
}
head=('/* SPDX-License-Identifier: Apache-2.0 */' '/*' ' * a.c - what it is for' ' */')
long=$(printf '%0120d' 0)
written "check-format takes what is right" "" "${head[@]}" "	x = \"$long\";"
written "a blank at the end" "a.c:5: blanks at the end" "${head[@]}" 'int x; '
written "a long line" "a.c:5: 12. columns" "${head[@]}" "/* $long */"
written "blanks for a tab" "a.c:5: eight blanks" "${head[@]}" '        int x;'
written "another file's name" "head comment" "${head[0]}" '/*' ' * b.c - what it is for' ' */'
written "no licence" "licence" "${head[@]:1}"
written "an empty line at the end" "one newline" "${head[@]}" ''

# A phrase is found over the end of a line and of a quoted piece, and only in what people read.
printf 'It ran inside\nof it.\n' >page.1
refused "a word of the dialect over two lines" check-words page.1 'page.1:2: "inside of": say inside'
printf 'f("ran outside "\n"of it");\n' >said.c
refused "... over two strings" check-words said.c 'said.c:2: "outside of": say outside'
printf '/* the greatest */\ngreatest("the largest");\n' >said.c
ok "comments and names are no text" "$TOP/scripts/check-words" said.c

# What runs the tests.
put failing.sh ". '$TOP/tests/flow/lib/lib.sh'" 'is "this one" got wanted' 'pass "that one"' 'done_testing'
said=$("$TOP/scripts/run-tests" --log "$TMP/log" failing.sh "silent=exit 3" "right=true")
is "run-tests: a test that fails is a failure" "$?" 1
is "... each is told at the end, with what it said of why, before the closing line" \
	"$(tail -n 5 <<<"$said")" "failed: flow/failing: this one
  # got:    got
  # wanted: wanted
failed: silent: exit status 3
2 passed, 2 failed, 0 skipped"
done_testing
