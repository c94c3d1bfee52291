#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trainprof run: a command runs as if the shell had started it, and its overview follows.

. "$(dirname "$0")/lib/lib.sh"
cd "$TMP" || exit 1
export PYTHONDONTWRITEBYTECODE=1
trainprof=$TOP/scripts/trainprof
cmp -s "$LIB" "$("$trainprof" lib 2>/dev/null)" || skip_all "the checkout's build is not the one that is tested"

# launch NAME OPTIONS... -- COMMAND...: standard error of the command alone in NAME.err, ours in NAME.said.
launch()
{
	local name=$1
	local -a options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$trainprof" run --dir "$TMP/$name" "${options[@]}" -- sh -c 'exec "$@" 2>"$0"' "$name.err" "$@" \
		>"$name.out" 2>"$name.said"
	status=$?
}

# same NAME COMMAND...: status, output and errors are those of a bare run.
same()
{
	local name=$1 wanted option
	shift
	bare bare "$@"
	wanted=$status
	for option in --dir=here --no-merge; do
		launch "$name" "$option" -- "$@"
		is "$name, $option: same status" "$status" "$wanted"
		ok "$name, $option: same output" cmp bare.out "$name.out"
		ok "$name, $option: same errors" cmp bare.err "$name.err"
	done
	is "$name: --no-merge says nothing" "$(cat "$name.said")" ""
}

same true true
same status sh -c 'echo out; echo err >&2; exit 77'
is "the input is the command's" "$(echo typed | "$trainprof" run -- cat 2>out)" typed
# (A python3 that is a shim of pyenv sets variables of its own.)
same environment sh -c 'env | grep -v "^_=\|^LD_PRELOAD=\|^TRAINPROF_\|PYENV\|^PATH=" | sort; ulimit -a; umask'
same c-locale env -i PATH="$PATH" sh -c 'env | grep -v "^_=\|^LD_PRELOAD=\|^TRAINPROF_\|^OMP_" | sort'
same signals grep "SigIgn\\|SigBlk" /proc/self/status
same terminated sh -c 'kill -TERM $$'
same killed sh -c 'kill -KILL $$'
same segfault sh -c 'kill -SEGV $$'
same interrupted sh -c 'kill -INT $$'
(trap '' INT HUP; same ignored sh -c 'kill -INT $$; kill -HUP $$; echo lives'; exit $n_failed) >ignored.tap
is "signals that are ignored stay ignored" "$?" 0

"$trainprof" run -- no-such-command >out 2>err
is "no such command: the shell's status" "$?" 127
is "no such command: one line" "$(cat err)" "trainprof: cannot run 'no-such-command': No such file or directory"
"$trainprof" run --schedul x -- true >out 2>err
is "an unknown option: status of usage" "$?" 2
is "an unknown option: one line" "$(wc -l <err)" 1
"$trainprof" run -- true >out 2>err
like "nothing recorded: that is said" "$(cat err)" '^trainprof: nothing was recorded'

# Another rank's ledger is held by its process: the merge is left to that one's launcher.
mkdir shared && touch shared/rank1.steps
exec 9<shared/rank1.steps
flock 9
"$trainprof" run --dir shared -- sh -c 'echo >shared/rank0.steps; exit 3' >out 2>err 9<&-
is "other ranks record: not merged, and the status is the command's" "$? $(cut -d, -f 1 err)" "3 trainprof: not merged"
exec 9<&-
"$trainprof" run --dir shared -- sh -c 'echo >>shared/rank0.steps; exit 3' >out 2>err
is "a merge that fails: the status is the command's" "$?" 3
like "a merge that fails: that is said" "$(tail -n 1 err)" '^trainprof: the merge failed'

# What lies there under our names, or is given as settings, is no file: nobody waits for who opens the other end.
mkfifo shared/rank2.steps config
TRAINPROF_CONFIG=config timeout 60 "$trainprof" run --dir shared -- sh -c 'echo >>shared/rank0.steps; exit 3' >out 2>err
is "FIFOs under our names: the command runs, and the status is its own" "$?" 3
rm shared/rank2.steps config

# A child that counts what it gets. Signals to the launcher alone, and to the group, come once.
cat >counts.py <<'EOF'
import os, signal, sys, time
got = []
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
    signal.signal(number, lambda number, frame: got.append(number))
open("ready", "w").close()
deadline = time.monotonic() + 120
while signal.SIGHUP not in got and time.monotonic() < deadline:
    time.sleep(0.01)
print(*got)
EOF
# deliver WHOM: one after the other, each when the one before must be there.
deliver()
{
	rm -f ready
	setsid "$trainprof" run --dir "$TMP/none" -- "$PYTHON" counts.py >counts.out 2>counts.said &
	local pid=$! number
	for ((i = 0; i < 600; i++)); do
		[ ! -e ready ] || break
		sleep 0.1
	done
	for number in TERM INT USR1 HUP; do
		kill -$number -- "$1$pid"
		sleep 1
	done
	wait $pid
	is "signals to the ${1:+group with the }launcher come once" "$? $(cat counts.out)" "0 15 2 10 1"
}
deliver ''
deliver -
setsid "$trainprof" run -- sh -c 'echo $$ >pid; exec sleep 300' >out 2>err &
for ((i = 0; i < 600; i++)); do
	[ ! -s pid ] || break
	sleep 0.1
done
kill -KILL $!
wait $! 2>/dev/null
for ((i = 0; i < 600; i++)); do
	kill -0 "$(cat pid)" 2>/dev/null || break
	sleep 0.1
done
ok "SIGKILL of the launcher ends the command" [ ! -e "/proc/$(cat pid)" ]

# The line of --dry-run, pasted.
line=$("$trainprof" run --dir "$TMP/it's \$HOME" --schedule always --dry-run -- sh -c 'echo "$1|$TRAINPROF_DIR|$LD_PRELOAD"' - 'a  "b')
is "the line of --dry-run works" "$(sh -c "$line")" "a  \"b|$TMP/it's \$HOME|$("$trainprof" lib)"
like "what is preloaded already stays" "$(LD_PRELOAD=libc.so.6 "$trainprof" run --dry-run -- true)" \
	"^LD_PRELOAD='[^ ]*libtrainprof.so libc.so.6' true$"
like "trainprof merge is trainprof-merge" "$("$trainprof" merge --version)" '^trainprof-merge '
like "python -m trainprof is the same command" \
	"$(PYTHONPATH=$TOP/scripts/python python3 -m trainprof --help)" '^usage: trainprof COMMAND'

if "$PYTHON" -c 'import torch' 2>/dev/null; then
	bare training "$PYTHON" "$PROGS/train_gan.py"
	wanted=$status
	launch trained --schedule wait=1,warmup=1,active=2 -- "$PYTHON" "$PROGS/train_gan.py"
	is "a training: same status" "$status" "$wanted"
	ok "a training: same output" cmp training.out trained.out
	like "a training: its overview is printed" "$(cat trained.said)" '^ *recorded  2 of '
	like "a training: it is merged" "$(ls trained)" '^node0\.json\.gz$'
else
	skip "a training: its overview is printed" "$PYTHON has no torch (make setup)"
fi
done_testing
