#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 1800
#
# make dist: two archives of a commit are byte-equal, and hold what git has. With LONG=1, make deb: lintian
# has nothing to say, and what is in the package works from another root.

. "$(dirname "$0")/lib/lib.sh"
git -C "$TOP" rev-parse -q --verify HEAD >/dev/null 2>&1 || skip_all "'$TOP' is no checkout of git"
builds=$TMP/build
ok "an archive is made" make -s -C "$TOP" O="$builds/one" dist
ok "and another one" make -s -C "$TOP" O="$builds/two" dist
is "they are byte-equal" "$(cd "$builds/one/dist" && sha256sum ./*)" "$(cd "$builds/two/dist" && sha256sum ./*)"
is "it holds what git has" "$(tar tzf "$builds"/one/dist/*.tar.gz | grep -v '/$' | sed 's|^[^/]*/||' | sort | cksum)" \
	"$(git -C "$TOP" ls-tree -r --name-only HEAD | sort | cksum)"

if [ -n "${LONG:-}" ] && command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null; then
	ok "a package is built" make -s -C "$TOP" O="$builds/deb" deb
	deb=$(echo "$builds"/deb/deb/trainprof_*.deb)
	if command -v lintian >/dev/null; then
		is "lintian has nothing to say" "$(lintian --allow-root "$builds"/deb/deb/*.deb 2>&1)" ""
	else
		skip "lintian has nothing to say" "no lintian"
	fi
	mkdir "$TMP/root"
	dpkg -x "$deb" "$TMP/root"
	is "the library is the package's" "$("$TMP/root/usr/bin/trainprof" lib)" \
		"$TMP/root/usr/lib/trainprof/libtrainprof.so"
	like "so is the merge" "$("$TMP/root/usr/bin/trainprof" merge --version)" '^trainprof-merge '
	ok "the package of Python reads" env PYTHONPATH="$TMP/root/usr/lib/trainprof/trainprof/python" \
		"$PYTHON" -c 'import sys, trainprof; print(trainprof.open(sys.argv[1]).text("steps"))' \
		"$TOP/tests/golden/1.3.tpt"
else
	skip "a package is built" "LONG=1 and dpkg-dev, debhelper (make setup-long)"
fi
done_testing
