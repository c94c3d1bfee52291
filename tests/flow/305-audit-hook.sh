#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# As long as there is an audit hook, id() and what uses it (copy.deepcopy) is slower. So ours
# is gone as soon as it has told what it is for, in every version of Python.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1

# asked WANTED COMMAND..: its answer; a wrong one, of a machine that had other work, up to twice more.
asked()
{
	local wanted=$1 got try
	shift
	for try in 1 2 3; do
		got=$("$@" 2>&1)
		[ "$got" != "$wanted" ] || break
	done
	echo "$got"
}

# The name of a launcher: such a program is left alone, and nothing more is asked about it.
mkdir -p bin
cp "$PROGS/audit_cost.py" bin/torchrun
cp "$PROGS/audit_cost.py" plain.py

found=0
for version in 3.8 3.9 3.10 3.11 3.12 3.13 3.14; do
	if ! python=$(find_python "$version"); then
		skip "Python $version" "not installed"
		continue
	fi
	found=$((found + 1))
	is "Python $version without us has no hook" "$(asked none "$python" plain.py)" none
	is "Python $version: while torch may come, there is one" \
		"$(asked hook env LD_PRELOAD="$LIB" "$python" plain.py)" hook
	is "Python $version: when it has done its work, there is none" \
		"$(asked none env LD_PRELOAD="$LIB" "$python" bin/torchrun)" none
done
[ "$found" -gt 0 ] || skip_all "no Python with ctypes"

if "$PYTHON" -c 'import torch' 2>/dev/null; then
	{ echo "import torch"; cat "$PROGS/audit_cost.py"; } >with_torch.py
	is "after torch was found there is none" \
		"$(asked none env LD_PRELOAD="$LIB" "$PYTHON" with_torch.py)" none
else
	skip "after torch was found there is none" "no torch"
fi
done_testing
