#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# long
# timeout: 3600
#
# Two fresh systems without a compiler, one with only the wheel (built in an older one), one with only the
# Debian package: README's first lines profile a training there, merge it, and DuckDB queries it.
# OLD_ROOT=folder: a root of make wheel-old's that is there.

. "$(dirname "$0")/lib/lib.sh"
root=$TOP/scripts/root
why=$("$root" ready 2>&1) || skip_all "$why"
need_torch
git -C "$TOP" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip_all "'$TOP' is no checkout of git"
# The system that the tests' Python is like: its torch is installed there.
. /etc/os-release
case $ID in debian) suite=$VERSION_CODENAME ;; *) skip_all "'$ID' is not Debian" ;; esac
roots=$TMP/roots
mkdir "$roots"
"$root" make "$roots/one" "$suite" python3 python3-pip python3-venv 2>"$TMP/made" ||
	skip_all "$(tail -n 1 "$TMP/made")"
version=$("$root" run "$roots/one" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
torch=$("$PYTHON" -c 'import torch; print(torch.__version__)')
"$PYTHON" -m pip install -q --target "$roots/one/site" --python-version "$version" --only-binary :all: \
	"torch==$torch" duckdb >"$TMP/pip" 2>&1 || skip_all "no torch $torch, duckdb for Python $version: $(tail -n 1 "$TMP/pip")"
cp "$PROGS/train_gan.py" "$roots/one/root/train.py"

cat >"$roots/one/root/query.py" <<'END'
import csv, io, duckdb, subprocess, trainprof
run = trainprof.open("trainprof-run")
spans = run["spans"]
print("steps", *duckdb.sql("SELECT count(DISTINCT step) FROM spans WHERE step > 0").fetchall()[0])
rows = csv.DictReader(io.StringIO(subprocess.run(["trainprof-merge", "-f", "csv", "-v", "operator", "--top", "0",
    "trainprof-run"], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout))
views = sorted((row["operator"], int(row["calls"])) for row in rows)
asked = sorted((row[0], row[1]) for row in run.query("operators").fetchall())
print("operators", "equal" if views == asked and len(views) > 20 else (views, asked))
END
cp -a "$roots/one" "$roots/two"

# example NAME ROOT PYTHON: what README says to do, by that Python.
example()
{
	local name=$1 dir=$2 python=$3
	in_root() { "$root" run "$dir" sh -c "cd /root; export PYTHONPATH=/site OMP_NUM_THREADS=1 PATH=/venv/bin:\$PATH; $1"; }
	unlike "$name: there is no compiler" "$(in_root 'command -v cc gcc clang c99 make')" .
	in_root "$python train.py" >"$TMP/$name.bare" 2>/dev/null
	is "$name: doctor finds what it needs" "$(in_root "trainprof doctor --python $python" >"$TMP/$name.doctor" 2>&1
		echo $?; tail -n 1 "$TMP/$name.doctor")" "0
recording works here"
	in_root "LD_PRELOAD=\$(trainprof lib) TRAINPROF_SCHEDULE=wait=5,warmup=1,active=4,repeat=2 $python train.py" \
		>"$TMP/$name.out" 2>"$TMP/$name.err"
	is "$name: the training ends as without us" "$? $(cmp "$TMP/$name.bare" "$TMP/$name.out" 2>&1)" "0 "
	is "$name: and says nothing of us" "$(grep trainprof "$TMP/$name.err")" ""
	like "$name: the merge prints the overview" "$(in_root "trainprof-merge trainprof-run/" 2>&1)" '^ *recorded  8 of 60 '
	is "$name: DuckDB's answers" "$(in_root "$python query.py" 2>&1)" "steps 8
operators equal"
	in_root "trainprof run --dir run2 --schedule wait=5,warmup=1,active=4 -- $python train.py" >"$TMP/$name.out" 2>"$TMP/$name.said"
	is "$name: trainprof run: status and output" "$? $(cmp "$TMP/$name.bare" "$TMP/$name.out" 2>&1)" "0 "
	like "$name: trainprof run: the overview" "$(cat "$TMP/$name.said")" '^ *recorded  4 of 60 '
}

if make -s -C "$TOP" O="$O" ROOT="${OLD_ROOT:-$roots/old}" wheel-old >"$TMP/wheel.log" 2>&1; then
	pass "a wheel is built in Debian 11"
	wheel=$(echo "$O"/wheel-old/trainprof-*.whl)
	like "it is for a C library of 2.28 or older" "$wheel" 'manylinux_2_(1[0-9]|2[0-8])_'
	cp "$wheel" "$roots/one/root/"
	ok "wheel: pip installs it" "$root" run "$roots/one" sh -c \
		"python3 -m venv /venv && /venv/bin/pip install -q --no-index /root/trainprof-*.whl"
	example wheel "$roots/one" python
else
	fail "a wheel is built in Debian 11" "$(tail -n 5 "$TMP/wheel.log")"
fi

if command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null; then
	ok "a Debian package is built" make -s -C "$TOP" O="$TMP/deb" deb
	cp "$TMP"/deb/deb/trainprof_*.deb "$roots/two/root/"
	ok "deb: apt-get installs it" "$root" run "$roots/two" sh -c "apt-get -q -y install /root/trainprof_*.deb"
	like "deb: debug symbols are apart" "$(echo "$TMP"/deb/deb/trainprof-dbgsym_*.deb)" '_amd64|_arm64'
	example deb "$roots/two" python3
else
	skip "a Debian package is built" "no dpkg-dev, debhelper (make setup-long)"
fi
rm -rf "$roots"
done_testing
