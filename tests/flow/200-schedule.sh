#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 200-schedule.sh - the schedule gives each step what torch.profiler.schedule gives it, for
# thousands of random settings

. "$(dirname "$0")/lib/lib.sh"

need_torch
${CC:-cc} -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -shared -iquote "$TOP" -o "$TMP/schedule.so" \
	"$TOP/runtime/engine/config/schedule.c" "$TOP/runtime/base/text.c"
said=$("$PYTHON" "$TOP/tests/flow/lib/compare_schedule.py" "$TMP/schedule.so" --settings 5000 2>&1)
like "equal to torch.profiler.schedule, step by step" "$said" '^5000 settings, [0-9]+ steps: all equal$'
diag "$said"

done_testing
