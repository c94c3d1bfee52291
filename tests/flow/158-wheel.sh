#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# make wheel: installed into a fresh environment, it records, merges and reads, without the checkout.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
builder=${WHEEL_PYTHON:-$PYTHON}
"$builder" -c 'import build, setuptools, wheel' 2>/dev/null ||
	skip_all "'$builder' has no build, setuptools and wheel (WHEEL_PYTHON=another)"
"$PYTHON" -c 'import pip' 2>/dev/null || skip_all "$PYTHON has no pip"
ok "the wheel is built" make -s -C "$TOP" O="$O" PYTHON="$builder" wheel
"$PYTHON" -m venv --without-pip fresh
site=$(fresh/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
ok "it is installed" "$PYTHON" -m pip -q --python fresh/bin/python install --no-deps --no-index "$O"/wheel/trainprof-*.whl
# With the training's torch, where there is one.
"$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"$site/torch.pth"
is "the library is the wheel's" "$(fresh/bin/trainprof lib)" "$(cd "$site" && pwd -P)/trainprof/libtrainprof.so"
like "so is the merge" "$(fresh/bin/trainprof merge --version)" '^trainprof-merge '
ok "the manual is there" [ -f fresh/share/man/man1/trainprof.1 ]
if "$PYTHON" -c 'import torch' 2>/dev/null; then
	fresh/bin/trainprof run --dir run --schedule wait=1,warmup=1,active=2 -- \
		fresh/bin/python "$PROGS/train_gan.py" >out 2>said
	is "a training is run" "$?" 0
	like "and its overview printed" "$(cat said)" '^ *recorded  2 of '
	like "the package reads it" \
		"$(fresh/bin/python -c 'import trainprof; print(trainprof.open("run").text())')" '^ *recorded  2 of '
else
	skip "a training is run" "no torch"
fi
done_testing
