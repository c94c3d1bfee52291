#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Input in a store: fetched by rclone from a real server, said, and gone afterwards; results go to the working
# directory. What cannot be fetched is one line and status 1.

. "$(dirname "$0")/lib/lib.sh"
command -v rclone >/dev/null || skip_all "no rclone (make setup-long)"
cd "$TMP" || exit 1
unset HTTP_PROXY HTTPS_PROXY http_proxy https_proxy

port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export TMPDIR=$TMP/tmp RCLONE_CONFIG=$TMP/rclone.conf RCLONE_RETRIES=1 RCLONE_LOW_LEVEL_RETRIES=1 RCLONE_CONTIMEOUT=5s \
	RCLONE_CONFIG_STORE_TYPE=webdav RCLONE_CONFIG_STORE_URL=http://127.0.0.1:$port RCLONE_CONFIG_STORE_VENDOR=other
touch rclone.conf
mkdir -p tmp served/job/my-run served/job/empty here
echo "no trace" >served/job/empty/notes.txt
golden=$(ls "$TOP"/tests/golden/*.tpt | tail -n 1)
cp "$golden" served/job/my-run/rank0.0.tpt
echo "not wanted" >served/job/my-run/node0.json.gz
rclone serve webdav --addr "127.0.0.1:$port" served >server.log 2>&1 &
server=$!
for ((i = 0; i < 100; i++)); do
	! rclone lsf store:job >/dev/null 2>&1 || break
	sleep 0.1
done
cd here || exit 1

fuse remote -o out.json store:job/my-run
fuse local -q -o there.json ../served/job/my-run
is "what is fetched merges to what is there" "$status $(md5sum <out.json)" "0 $(md5sum <there.json)"
like "what was fetched is said: what processes left, not what was made of it" "$(cat ../remote.err)" \
	"fetched 1 file \\([0-9.]+ [KM]iB\\) from 'store:job/my-run'"
fuse overview -q -v overview store:job/my-run
like "the run is called as it is there" "$(cat ../overview.out)" '^Run: .*/my-run$'
fuse plain -q -f chrome store:job/my-run
is "results go to the working directory" "$status $(ls)" "0 node0.json.gz
out.json
there.json"
fuse diff -q -v diff --compare store:job/my-run store:job/my-run
is "both runs of a comparison" "$status" 0
is "nothing of it is left" "$(ls ../tmp)" ""
touch ../tmp/of_others
for up in .. my-run/.. .; do
	fuse up -q -o up.json "store:job/$up"
	is "what a path like $up brings lies in the folder that is made for it" "$(ls ../tmp)" of_others
done
rm ../tmp/of_others

fuse none store:job/none
is "a run that is not there: status 1" "$status" 1
like "... and one line of ours" "$(cat ../none.err)" "cannot fetch 'store:job/none': rclone failed, see above"
fuse empty store:job/empty
like "a folder without traces" "$status $(tail -n 1 ../empty.err)" "1 .*'store:job/empty' holds no trace, step log, buffer file or node file"
fuse recover --recover store:job/my-run
like "nothing can be recovered there" "$status $(cat ../recover.err)" "1 .*cannot recover 'store:job/my-run': --recover needs a run folder of this machine"
mkdir odd:name
cp "$golden" odd:name/rank0.0.tpt
fuse odd -q -o odd.json odd:name
is "a folder of such a name is a folder" "$status $(md5sum <odd.json)" "0 $(md5sum <there.json)"
PATH=/nowhere "$MERGE" store:job/my-run 2>../no.err
like "without rclone" "$? $(cat ../no.err)" "1 .*cannot fetch 'store:job/my-run': no rclone is installed"
is "nothing of that is left either" "$(ls ../tmp)" ""
kill "$server"

done_testing
