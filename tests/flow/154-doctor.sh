#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof doctor: what is there is found, and what would keep a training from being recorded.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export PYTHONDONTWRITEBYTECODE=1
trainprof=$TOP/scripts/trainprof
cmp -s "$LIB" "$("$trainprof" lib 2>/dev/null)" || skip_all "the checkout's build is not the one that is tested"

doctor()
{
	said=$("$trainprof" doctor "$@" 2>&1)
	status=$?
}

python3 -m venv --without-pip bare 2>/dev/null || skip_all "python3 has no venv"
doctor --python bare/bin/python
is "without torch: status" "$status" 1
like "without torch: it says so" "$said" '^no +torch  '
like "the library is loaded in that Python" "$said" '^ok +library  '
unlike "a line is ok, no or unknown" "$(printf '%s\n' "$said" | sed '1d;$d')" '^(ok|no|unknown)?$|^[^onu]'
doctor --python ./none
is "no such Python: one line" "$status $said" "1 trainprof: doctor: './none' cannot be run: No such file or directory"
doctor --python /bin/sh
is "no Python at all: one line" "$status $said" "1 trainprof: doctor: '/bin/sh' does not answer as a Python"
doctor --pyton x
is "an unknown option: status" "$status" 2
# A shadow of torch: as much of it as doctor reads.
site=$(bare/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$site/torch"
echo 'raise SystemExit("imported")' >"$site/torch/__init__.py"
echo '__version__ = "2.99.0+test"' >"$site/torch/version.py"
doctor --python bare/bin/python
is "with torch: status" "$status" 0
like "torch: its version, without importing it" "$said" '^ok +torch +2\.99\.0\+test$'
if [ "$(uname -m)" = x86_64 ] && command -v "${CC:-cc}" >/dev/null; then
	# What is no library stands before the one that may be there.
	mkdir unwind && echo 'not a library' >unwind/libunwind-x86_64.so.8
	LD_LIBRARY_PATH=unwind doctor --python bare/bin/python
	like "no libunwind: no native stacks" "$said" '^no +native stacks +libunwind.* is not found'
	echo | "${CC:-cc}" -shared -xc -o unwind/libunwind-x86_64.so.8 - || no_program
	LD_LIBRARY_PATH=unwind doctor --python bare/bin/python
	like "with it: native stacks" "$said" '^ok +native stacks +libunwind'
else
	skip "native stacks" "not x86-64, or no C compiler"
fi
mkdir used && touch used/rank0.0.tpt
TRAINPROF_DIR=used doctor --python bare/bin/python
like "a folder with traces is a finding" "$said" "^unknown +folder +'used' has traces"
if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016
	like "a /dev/shm that holds no ring is a finding" "$(unshare -m sh -c 'mount -t tmpfs -o size=4m tmpfs /dev/shm
		exec "$0" doctor --python bare/bin/python' "$trainprof" 2>&1)" '^unknown +/dev/shm +4 MiB free: too little for .* 32 MiB'
else
	skip "a /dev/shm that holds no ring is a finding" "this machine allows no mounts"
fi
done_testing
