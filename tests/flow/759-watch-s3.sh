#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long
#
# trainprof-merge --watch delivers to an S3 server by rclone: one that comes late, uploads and watchers that
# are killed on the way; in the end every file is there, whole, under its one name.

. "$(dirname "$0")/lib/lib.sh"
command -v rclone >/dev/null || skip_all "no rclone (make setup-long)"
need_module moto "make setup-long"
cd "$TMP" || exit 1
# Not sleep(1): it closes its standard error before it ends.
mkfifo never
exec 3<>never

port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export RCLONE_CONFIG=$TMP/rclone.conf RCLONE_RETRIES=1 RCLONE_LOW_LEVEL_RETRIES=1 RCLONE_CONTIMEOUT=5s \
	RCLONE_CONFIG_STORE_TYPE=s3 RCLONE_CONFIG_STORE_PROVIDER=Other \
	RCLONE_CONFIG_STORE_ENDPOINT=http://127.0.0.1:$port RCLONE_CONFIG_STORE_ACCESS_KEY_ID=nobody \
	RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY=nothing RCLONE_CONFIG_STORE_FORCE_PATH_STYLE=true
touch rclone.conf
# They would change how rclone connects.
unset AWS_CA_BUNDLE HTTP_PROXY HTTPS_PROXY http_proxy https_proxy

# A job of three windows, by the clock.
mkdir run
for rank in 0 1; do
	env RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank TRAINPROF_SCHEDULE=wait=3,warmup=0,active=3,repeat=3,per=run \
		TRAINPROF_STEP=clock:20 TRAINPROF_PROGRAM=bash TRAINPROF_RECORD=heap,host TRAINPROF_DIR="$TMP/run" \
		LD_PRELOAD="$LIB" bash -c 'read -rt 3 -u 3' 2>>run.err &
done
wait
cp -r run saved
# It goes on, as far as others can tell: its ledgers have no end, and are held.
for rank in 0 1; do
	grep -v '^#end' saved/rank$rank.steps >run/rank$rank.steps
done
exec 5<run/rank0.steps 6<run/rank1.steps
flock 5
flock 6

# watch: into the background, $watch.
watch()
{
	"$MERGE" --watch --every 0.2 --keep 0 --deliver rclone:store:bucket/run run >>watch.out 2>>watch.err 5<&- 6<&- &
	watch=$!
}

watch
sleep 2
is "without a server nothing is removed" "$(find run -name '*.tpt' | wc -l)" 6
"$PYTHON" -m moto.server -H 127.0.0.1 -p "$port" >server.log 2>&1 5<&- 6<&- &
server=$!
for ((i = 0; i < 300; i++)); do
	! rclone mkdir store:bucket 2>/dev/null || break
	sleep 0.2
done
for ((kill = 0; kill < 8; kill++)); do
	sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
	if [ $((kill % 2)) = 0 ]; then
		# The upload: whatever child the watcher has.
		pkill -9 -P "$watch" 2>/dev/null
	else
		kill -9 "$watch"
		wait "$watch" 2>/dev/null
		watch
	fi
done
for rank in 0 1; do
	echo '#end' >>run/rank$rank.steps
done
exec 5<&- 6<&-
wait "$watch"
is "the last watcher ends well" "$?" 0
rclone lsf store:bucket/run >listed
is "every file is there, under its one name" "$(sort listed)" "$(for w in 0 1 2; do
	printf 'node0.window%d.json.gz\nrank0.%d.tpt\nrank1.%d.tpt\n' $w $w $w
done | sort)"
rclone copy store:bucket/run fetched
differing=
for trace in saved/*.tpt; do
	cmp -s "$trace" "fetched/${trace#saved/}" || differing+=" $trace"
done
for merged in fetched/*.json.gz; do
	gzip -t "$merged" || differing+=" $merged"
done
is "as the job wrote it" "$differing" ""
is "and no longer here" "$(find run -name '*.tpt' -o -name 'node*')" ""
kill "$server"
wait "$server" 2>/dev/null
done_testing
