#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# However a program ends, it ends the same under trainprof run: the tests of 120, through the launcher.

. "$(dirname "$0")/lib/lib.sh"
cmp -s "$LIB" "$("$TOP/scripts/trainprof" lib 2>/dev/null)" || skip_all "the checkout's build is not the one that is tested"
LAUNCHER="$TOP/scripts/trainprof" PYTHONDONTWRITEBYTECODE=1 exec bash "$TOP/tests/flow/120-ways-out.sh"
