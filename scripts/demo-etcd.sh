#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows a bus whose directory is on servers: three members of tagbus-directory on
# addresses of this host, of which one is killed in the middle.
#   scripts/demo-etcd.sh [BIN]   BIN: where tagbus-directory, publisher and subscriber, and
#                                beside them publisher-etcd, subscriber-etcd and
#                                tagbus-etcd are (default bin); it needs nothing else
# Exit status 0: every byte arrived. Otherwise the logs of all programs are shown.
set -euo pipefail
bin=${1:-$(dirname "$0")/../bin}
tmp=$(mktemp -d)
limit=120 # seconds for a thing to happen, should a program hang
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
  printf 'demo-etcd: FAILED: %s\n' "$1" >&2
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
  "$@" >"$tmp/$name.out" 2>>"$tmp/$name.log" </dev/null &
  pids[$name]=$!
  [[ " ${names[*]} " == *" $name "* ]] || names+=("$name")
}

# until_true WHAT COMMAND... waits until a command succeeds.
until_true() {
  local what=$1 end=$((SECONDS + limit)) name
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || fail "$what: not within $limit s"
    for name in "${!pids[@]}"; do
      kill -0 "${pids[$name]}" 2>/dev/null || [ -n "${ending:-}" ] || fail "$what: $name has ended"
    done
    sleep 0.1
  done
}
said() { grep -qE "$2" "$tmp/$1.log"; }
answers() { [ -s "$tmp/$1.out" ]; }
reports() { [ "$(grep -c ' in 1s: ' "$tmp/$1.log")" -ge "$2" ]; }
well() { "$bin/tagbus-directory" status --at "$1:$port"; }

# finish NAME [SUMMARY] waits for the end of a program, and holds its summary to a pattern.
finish() {
  local name=$1 status=0
  wait "${pids[$name]}" || status=$?
  unset "pids[$name]"
  [ "$status" -eq 0 ] || fail "$name ended with status $status"
  tail -n 1 "$tmp/$name.log" | sed "s/^/       $(printf '%-11s' "$name")/"
  [ -z "${2:-}" ] || tail -n 1 "$tmp/$name.log" | grep -qE "$2" || fail "$name does not say \"$2\""
}

# free PORT reports whether nothing listens on it and the next one.
free() {
  local host
  for host in 127.0.0.1 127.0.0.2 127.0.0.3; do
    ! (exec 3<>"/dev/tcp/$host/$1") 2>/dev/null || return 1
    ! (exec 3<>"/dev/tcp/$host/$(($1 + 1))") 2>/dev/null || return 1
  done
}

members() {
  local n
  start member1 "$bin/tagbus-directory" --data "$tmp/data1" --name member1 --listen "127.0.0.1:$port" --json
  until_true "the first member does not work" answers member1
  for n in 2 3; do
    start "member$n" "$bin/tagbus-directory" --data "$tmp/data$n" --name "member$n" --listen "127.0.0.$n:$port" --join "127.0.0.1:$port" --json
    until_true "member $n does not join" answers "member$n"
  done
  "$bin/tagbus-directory" status --at "127.0.0.1:$port" | sed 's/^/       /'
}

# leader prints the number of the member that leads.
leader() { "$bin/tagbus-directory" status --at "127.0.0.1:$port" | sed -n 's/^member\([123]\) .* leader .*/\1/p'; }

for program in tagbus-directory publisher-etcd subscriber-etcd tagbus-etcd publisher subscriber tagbus; do
  [ -x "$bin/$program" ] || { echo "demo-etcd: no $bin/$program; run make build build-etcd" >&2; exit 1; }
done
port=$((20000 + RANDOM % 9000))
until free "$port"; do port=$((20000 + RANDOM % 9000)); done
bus=etcd://127.0.0.1:$port,127.0.0.2:$port,127.0.0.3:$port/demo
before=0x1000000000000000-0x100000000000000f
after=0x1000000000000010-0x100000000000001f

say "three members of tagbus-directory start on 127.0.0.1 to 127.0.0.3, port $port"
members
say "publisher and subscriber find each other by --bus $bus"
start subscriber "$bin/subscriber" --bus "$bus" --tags "$before,$after" --verify --report 1s --count 500000 --timeout "${limit}s"
start publisher "$bin/publisher" --bus "$bus" --tags "$before" --emulate 40-400 --rate 40k --count 400000 --wait-subscribers 1
until_true "no messages arrive" reports subscriber 2

killed=$(leader)
[ -n "$killed" ] || fail "no member leads"
say "kill -9 of member$killed, which leads the others; messages go on, for none passes it"
kill -9 "${pids[member$killed]}"
wait "${pids[member$killed]}" 2>/dev/null || true
unset "pids[member$killed]"

say "a subscriber and a publisher that start now"
start late "$bin/subscriber" --bus "$bus" --tags "$before,$after" --verify --until-goodbye
start publisher2 "$bin/publisher" --bus "$bus" --tags "$after" --emulate 40-400 --count 100000 --wait-subscribers 2
until_true "the late subscriber does not find the first publisher" said late "subscribed .* tags ${before%%-*}"
say "the late subscriber has found the first publisher"
ending=yes # from now on programs end
finish publisher2 ' 0 lost'
say "the second publisher was found by both subscribers"
finish publisher ' 0 lost'
finish subscriber '^.* 500,000 messages.* 0 lost, 0 corrupt, 0 duplicates; ended by count'
finish late ' [1-4][0-9]{2},[0-9]{3} messages.* 0 lost, 0 corrupt, 0 duplicates' # all of one, and the rest of the other

say "member$killed starts again, with its --data only"
start "member$killed" "$bin/tagbus-directory" --data "$tmp/data$killed" --json
until_true "not all is well with the members" well "127.0.0.$killed"
"$bin/tagbus-directory" status --at "127.0.0.$killed:$port" | sed 's/^/       /'
for n in 1 2 3; do kill -TERM "${pids[member$n]}"; done
for n in 1 2 3; do
  status=0
  wait "${pids[member$n]}" || status=$?
  unset "pids[member$n]"
  [ "$status" -eq 0 ] || fail "member$n ended with status $status"
done
printf '\ndemo-etcd: all messages arrived, 0 lost, with one of three members killed in the middle, in %d s\n' "$SECONDS"
