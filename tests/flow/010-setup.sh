#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a fresh machine is told: make says which one command to run when headers are missing, make
# check sets up first, and set-up names what it cannot install. Nothing is installed here.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
unset CC CPPFLAGS CFLAGS

# without NAME MAKE-ARGUMENTS...: make in a new build folder, by a compiler that finds no header.
without()
{
	make -C "$TOP" --no-print-directory O="$TMP/$1" CPPFLAGS=-nostdinc "${@:2}" >"$1.out" 2>"$1.err"
	status=$?
}

for target in all check-unit; do
	without "$target" "$target"
	is "make $target without headers: fails" "$status" 2
	like "... says what is missing and which command to run" "$(cat "$target.err")" \
		'^setup: missing: libc6-dev libzstd-dev .* - run: make setup$'
	is "... in one line, and nothing was compiled" \
		"$(grep -c . "$target.err") $(find "$target" -name '*.o' -o -name '*.d' | wc -l)" "2 0"
done
ok "with them it says nothing" test -z "$(cd "$TOP" && scripts/setup --headers --level check 2>&1)"
# Of a whole dry run the first line: make goes through the rest.
like "make check begins with set-up" \
	"$(make -C "$TOP" --no-print-directory -n O="$TMP/dry" V=1 check 2>&1 | sed 1q)" \
	'^scripts/setup --level check'

# No apt-get here, and no header: the end, in a tree of its own.
mkdir -p tree bin
cp -r "$TOP/scripts" tree/
for tool in sh grep sed cat cksum cc python3 id dirname mktemp uname make; do
	ln -s "$(command -v $tool)" bin/
done
PATH=$TMP/bin CPPFLAGS=-nostdinc tree/scripts/setup --level check >alone.out 2>&1
is "set-up without a package manager: fails" $? 1
like "... names the packages" "$(cat alone.out)" \
	'^setup: missing: .*libc6-dev .* - run: sudo apt-get install .*libc6-dev .*$'
is "... in one line, and made no environment" "$(wc -l <alone.out) $(ls tree)" "1 scripts"

# What an environment was made from stands in it: nothing is done twice, whatever is touched.
mkdir -p tree/build/venv/bin tree/build/cuda
ln -s "$(command -v python3)" tree/build/venv/bin/python
{ echo python3; (cd tree && cksum scripts/setup scripts/python-*.txt); } >tree/build/venv/.setup-check
ln -s "$TOP/build/cuda/include" tree/build/cuda/include
if [ -n "$(cd tree && CUDA_HOME=/nonexistent scripts/cuda-include)" ]; then
	touch -d tomorrow tree/scripts/setup
	PATH=$TMP/bin CUDA_HOME=/nonexistent tree/scripts/setup --level check >again.out 2>&1
	is "set-up again, after a checkout: nothing to do" "$? $(cat again.out)" "0 "
else
	skip "set-up again" "no build/cuda (make setup)"
fi
done_testing
