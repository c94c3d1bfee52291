#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Which containers of a program grow: found by name with CPython 3.9 to 3.14 without running any of its code, and in a
# training as long as they really are; what does not grow is not told.

. "$(dirname "$0")/lib/lib.sh"
. "$(dirname "$0")/lib/pysample.sh"
cd "$TMP" || exit 1

"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -iquote "$TOP" -O2 -fPIC -shared -fvisibility=hidden -o keep.so \
	"$PROGS/keep_lib.c" "$TOP"/runtime/probe/keep/keep_{api,roots,walk}.c "$TOP"/runtime/probe/python/pyapi.c \
	"$TOP"/runtime/base/{readable,text,own_python}.c -ldl || no_program
for version in 3.9 3.10 3.11 3.12 3.13 3.13t 3.14 3.14t; do
	if ! python=$(find_python "$version"); then
		skip "Python $version" "not installed"
		continue
	fi
	said=$("$python" -W ignore "$PROGS/keep_check.py" ./keep.so 2>&1)
	case $version in
	*t)	is "Python $version: known not to be known" "$said" \
			"${version%t}: frames of free-threaded python are not known" ;;
	*)	like "Python $version: all are found, and nothing runs" "$said" "^$version: [0-9]{2,} found, 0 wrong$" ;;
	esac
done
need_torch

cat >keeps.py <<'EOT'
import collections
import functools

import torch

model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
outputs, losses, steady = [], [], [0] * 8
recent = collections.deque(maxlen=4)


class Cache:
    def __init__(self):
        self.pages = {}


@functools.lru_cache(maxsize=None)
def decode(number):
    return "x" * 3000


def main():
    cache = Cache()
    for step in range(60):
        y = model(torch.randn(8, 64))
        y.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        outputs.append(y)
        losses.append(0.5)
        recent.append(step)
        cache.pages[step] = cache.pages[-1 - step] = bytes(10000)
        decode(step)
        steady[step % 8] += 1


main()
print("done")
EOT
env LD_PRELOAD="$LIB" TRAINPROF_DIR=run TRAINPROF_SCHEDULE=wait=6,active=10,repeat=2 "$PYTHON" keeps.py >keeps.out 2>&1
is "the program ends well, and says what it says" "$? $(cat keeps.out)" "0 done"
last=$(sed -n 's/^#fact grows\.\([0-9]*\)=.*/\1/p' run/rank0.steps | tail -1)
is "four looks, at the ends of two windows" "$last" 4
is "what grows, the heaviest first" "$(sed -n "s/^#fact grows\.$last\.[0-9]=//p" run/rank0.steps | cut -d ' ' -f 6,7,9-)" \
	"1 list outputs
0 dict main().cache.pages
0 cache decode
0 list losses"
is "... by as many as were added" "$(sed -n "s/^#fact grows\.$last\.[0-9]=//p" run/rank0.steps |
	awk '{ print ($4 - $2) / ($3 - $1) }' | tr '\n' ' ')" "1 2 1 1 "
like "... and how large they are" "$(sed -n "s/^#fact grows\.$last\.[12]=//p" run/rank0.steps | cut -d ' ' -f 5 | tr '\n' ' ')" \
	'^10[0-9]{3} 3[0-9]{3} $'
"$MERGE" -q -f jsonl -v memory run >rows
is "the view of memory has them" "$(grep '"table":"memory_containers"' rows | "$PYTHON" -c '
import json, sys
for row in map(json.loads, sys.stdin):
    print(row["container"], row["kind"], round(row["items_per_step"]), row["tensors"], row["file"].endswith("/keeps.py"))')" \
	"outputs list 1 yes True
main().cache.pages dict 2 no True
decode cache 1 no True
losses list 1 no True"
done_testing
