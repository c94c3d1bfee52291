#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What was it doing when it died? By the README's own command: a training that is killed outside windows,
# or inside an operator of one, is told with the functions of its own that it was last seen in. The same
# after --recover, in a node file, and in run.json; of one that lives on too.

. "$(dirname "$0")/lib/lib.sh"
need_torch

cat >"$TMP/killed.py" <<'END'
import os, signal, sys, threading, time
import torch
def evaluate(x, n):
    for _ in range(1000):
        x = torch.mm(x, x) * 1e-3
def waits_in(n):
    time.sleep(n)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for i in range(int(sys.argv[2])):
    model(torch.randn(256, 64)).pow(2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print("stands", flush=True)
if sys.argv[1] == "evaluate":
    evaluate(torch.randn(2000, 2000), 1000)
else:
    waits_in(1000)
END

# killed NAME WHERE STEPS SCHEDULE: a run that is killed two seconds after it stands there.
killed()
{
	local dir=$TMP/$1 pid tries=0

	mkdir "$dir"
	TRAINPROF_DIR=$dir TRAINPROF_SCHEDULE=$4 LD_PRELOAD=$LIB "$PYTHON" "$TMP/killed.py" "$2" "$3" \
		>"$TMP/$1.out" 2>"$TMP/$1.err" &
	pid=$!
	until grep -q stands "$TMP/$1.out" 2>/dev/null || [ $((tries += 1)) -gt 600 ]; do
		sleep 0.1
	done
	sleep 2
	if [ "${5:-}" ]; then
		fuse "$1.live" -q "$dir"
	fi
	kill -KILL $pid
	wait $pid 2>/dev/null
}

# told NAME FUNCTION: before and after its ring went away.
told()
{
	local seen

	fuse "$1" -q "$TMP/$1"
	# A line may be broken at any blank.
	like "$1: where it stood" "$(tr -s '\n ' ' ' <"$TMP/$1.out")" "last seen in .*killed.py:[0-9]+ <module> > .*killed.py:[0-9]+ $2"
	seen=$(grep -A2 'last seen' "$TMP/$1.out")
	fuse "$1.run" -q -f run -o "$TMP/$1.json" "$TMP/$1"
	like "$1: the same in run.json" "$("$PYTHON" -c 'import json, sys
p = json.load(open(sys.argv[1]))["processes"][0]
print(p["end"], p["last_seen"])' "$TMP/$1.json")" "^killed .* > .*killed.py:[0-9]+ $2\$"
	fuse "$1.node" -q -f tpn -o "$TMP/$1.tpn" "$TMP/$1"
	fuse "$1.tpn" -q "$TMP/$1.tpn"
	is "$1: the same from a node file" "$(grep -A2 'last seen' "$TMP/$1.tpn.out")" "$seen"
	fuse "$1.recover" -q --recover "$TMP/$1"
	is "$1: no ring is left" "$(find "$TMP/$1" -name '*.ring')" ""
	fuse "$1.again" -q "$TMP/$1"
	is "$1: the same when it was recovered" "$(grep -A2 'last seen' "$TMP/$1.again.out")" "$seen"
}

killed outside evaluate 20 wait=1,warmup=1,active=3,repeat=1
told outside evaluate
killed inside evaluate 20 always
told inside evaluate
like "inside: the operator, too" "$(cat "$TMP/inside.out")" 'main thread: aten::(mm|mul) for at least'
if command -v chromium >/dev/null; then
	fuse page -q -f html -o "$TMP/page.html" "$TMP/inside"
	chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$TMP/page.html" 2>/dev/null |
		grep -o '<h2[^>]*>[^<]*' | sed 's/.*>//' >"$TMP/titles"
	# Behind the tab's own title.
	is "the page tells it before anything else" "$(sed -n 2p "$TMP/titles")" 'Where they stood when they died'
else
	skip "the page tells it before anything else" "no chromium (make setup-long)"
fi
killed early waits_in 1 wait=5,warmup=1,active=3,repeat=1 live
told early waits_in
like "one that still runs: where it stands" "$(tr -s '\n ' ' ' <"$TMP/early.live.out")" 'last seen in .*killed.py:[0-9]+ waits_in'
done_testing
