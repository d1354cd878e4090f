#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows a file on its way from one bus over a log in NATS JetStream to another bus. In the
# middle the bridge and the server of NATS are killed.
#   scripts/demo-bridge.sh BIN NATS-SERVER   BIN: where tagbus-bridge, publisher and subscriber are;
#                                            NATS-SERVER: the program
# Exit status 0: the file at the other end is the same. Otherwise the logs are shown.
set -euo pipefail
bin=$1 nats_server=$2
tmp=$(mktemp -d)
limit=60 # seconds for a thing to happen, should a program hang
declare -A pids=() # by name
names=()

cleanup() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '%3d s  %s\n' "$SECONDS" "$1"; }

# fail MESSAGE shows what the programs said, and ends the demo.
fail() {
  local name
  printf 'demo-bridge: FAILED: %s\n' "$1" >&2
  for name in "${names[@]}"; do
    printf -- '--- %s\n' "$name" >&2
    tail -n 20 "$tmp/$name.log" >&2
  done
  exit 1
}

# start NAME COMMAND... runs a program in the background.
start() {
  local name=$1
  shift
  "$@" >>"$tmp/$name.out" 2>>"$tmp/$name.log" </dev/null &
  pids[$name]=$!
  [[ " ${names[*]} " == *" $name "* ]] || names+=("$name")
}

# killed NAME kills a program as a machine that loses its power does.
killed() {
  kill -9 "${pids[$1]}"
  wait "${pids[$1]}" 2>/dev/null || true
  unset "pids[$1]"
}

# until_true WHAT COMMAND... waits until a command succeeds.
until_true() {
  local what=$1 end=$((SECONDS + limit))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$what: not within $limit s"
    sleep 0.1
  done
}
said() { grep -qE "$2" "$tmp/$1.log"; }
free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
listens() { ! free "$1"; }

# finish NAME [SUMMARY] waits for the end of a program, and holds its summary to a pattern.
finish() {
  local name=$1 status=0
  wait "${pids[$name]}" || status=$?
  unset "pids[$name]"
  [ "$status" -eq 0 ] || fail "$name ended with status $status"
  tail -n 1 "$tmp/$name.log" | sed "s/^/       $(printf '%-11s' "$name")/"
  [ -z "${2:-}" ] || tail -n 1 "$tmp/$name.log" | grep -qE "$2" || fail "$name does not say \"$2\""
}

# make_stream does what nats stream add does, without another program.
make_stream() {
  local line stream='{"name":"TAGBUS","subjects":["tagbus.*.*"],"storage":"file","retention":"limits","num_replicas":1}'
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'CONNECT {"verbose":false}\r\nSUB _INBOX.demo 1\r\nPUB $JS.API.STREAM.CREATE.TAGBUS _INBOX.demo %d\r\n%s\r\n' "${#stream}" "$stream" >&3
  while read -r -t "$limit" line <&3; do
    case $line in
    *'"error"'*) fail "the stream cannot be made: $line" ;;
    *'"did_create":true'*) break ;;
    esac
  done
  exec 3>&-
}

for program in tagbus-bridge publisher subscriber; do
  [ -x "$bin/$program" ] || { echo "demo-bridge: no $bin/$program; run make build build-bridge" >&2; exit 1; }
done
port=$((20000 + RANDOM % 9000))
until free "$port"; do port=$((20000 + RANDOM % 9000)); done
record=7200 records=2000 tag=0x1000000000000000
log=(--nats "nats://127.0.0.1:$port" --stream TAGBUS)
server() { start nats-server "$nats_server" -a 127.0.0.1 -p "$port" -js -sd "$tmp/jetstream"; }
bridge() { start bridge "$bin/tagbus-bridge" out --bus "$tmp/here" --tags "$tag" --replay "$records" "${log[@]}"; }
mkdir "$tmp/here" "$tmp/there"
head -c $((record * records)) "$bin/publisher" >"$tmp/in.bin"
[ "$(stat -c %s "$tmp/in.bin")" -eq $((record * records)) ] || fail "$bin/publisher is smaller than $((record * records)) bytes"

say "a server of NATS with JetStream on port $port, and a stream"
server
until_true "the server does not listen" listens "$port"
make_stream
say "one bus: $records messages of $record bytes, 200 a second, are written to the stream"
bridge
start publisher "$bin/publisher" --bus "$tmp/here" --tags "$tag" --input "$tmp/in.bin" --record "fixed:$record" --rate 200 --cache "$records" --queue-bytes 64MiB --wait-subscribers 1
until_true "the bridge is not connected" said bridge ' subscribed | connected '
sleep 2
say "kill -9 of the bridge; publisher goes on, and the bridge that follows gets what it has kept"
killed bridge
sleep 1
bridge
sleep 1
say "kill -9 of the server of NATS for two seconds; what comes meanwhile waits in the bridge"
killed nats-server
sleep 2
server
wait "${pids[publisher]}" || true # the bridge that was killed has not confirmed what it got, which publisher reports
unset "pids[publisher]"
tail -n 1 "$tmp/publisher.log" | sed 's/^/       publisher  /'
say "publisher has ended; the bridge is asked to end"
kill -TERM "${pids[bridge]}"
finish bridge "; 0 lost"
say "another bus: what is in the stream is published there"
start subscriber "$bin/subscriber" --bus "$tmp/there" --tags "$tag" --output "$tmp/out.bin" --record "fixed:$record" --until-goodbye
start in "$bin/tagbus-bridge" in --bus "$tmp/there" "${log[@]}"
finish in " 0 lost before the log, 0 missing in it"
finish subscriber ' 0 lost'
cmp "$tmp/in.bin" "$tmp/out.bin" || fail "the files differ"
printf '\ndemo-bridge: %d messages arrived once each, byte for byte, with two kills, in %d s\n' "$records" "$SECONDS"
