#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows the bus at work: publisher and subscriber as separate processes that
# find each other through a directory of files and speak TCP on this machine,
# and a recording that is made and played again.
#   scripts/demo.sh [BIN]   BIN: where publisher, subscriber and tagbus are (default bin);
#                           it needs nothing else of the sources, nor Go
# Exit status 0: every byte arrived. Otherwise the logs of the failed step are
# shown.
set -euo pipefail
bin=${1:-$(dirname "$0")/../bin}
tmp=$(mktemp -d)
declare -A running=() # process id -> name, of the current step
names=()

cleanup() {
  local pid
  for pid in "${!running[@]}"; do
    kill "$pid" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME COMMAND... runs a program of the current step in the background.
start() {
  local name=$1
  shift
  "$@" >"$step/$name.out" 2>"$step/$name.log" </dev/null &
  running[$!]=$name
  names+=("$name")
}

# begin TITLE opens a step: its own bus directory, and nothing running.
begin() {
  printf '\n== %s\n' "$1"
  step=$(mktemp -d "$tmp/step.XXXX")
  bus=$step/bus
  mkdir "$bus"
  names=()
}

# fail MESSAGE shows what the programs of this step said, and ends the demo.
fail() {
  printf 'demo: FAILED: %s\n' "$1" >&2
  for name in "${names[@]}"; do
    printf -- '--- %s\n' "$name" >&2
    tail -n 30 "$step/$name.log" >&2
  done
  exit 1
}

# finish waits for the programs of this step, in the order in which they end, so
# that the first failure is the one reported; then it prints their summaries.
finish() {
  local pid name status
  while [ ${#running[@]} -gt 0 ]; do
    status=0
    wait -n -p pid "${!running[@]}" || status=$?
    name=${running[$pid]}
    unset "running[$pid]"
    [ "$status" -ne 124 ] || fail "$name did not end within $limit"
    [ "$status" -eq 0 ] || fail "$name ended with status $status"
  done
  for name in "${names[@]}"; do
    tail -n "$summary_lines" "$step/$name.log" | sed "s/^/  $(printf '%-13s' "$name")/"
    if [[ $name == subscriber* ]]; then
      way=$(grep -m 1 -oE ' connected .* over [a-z]+$' "$step/$name.log") || fail "$name does not say how it is connected"
      printf '  %-13s%s\n' '' "connected over ${way##* }"
      grep -qE '(^|[^0-9.,])0 lost' "$step/$name.log" || fail "$name does not say \"0 lost\""
    fi
  done
}

# A program ends with its summary; what comes before is its log.
summary_lines=1
limit=2m # for one step, should a program hang

bytes_from_a_file() {
  # Records of 7200 bytes are what a ProtoDUNE front end sends; the file is one that
  # is there in any case: the program itself. Cut to whole records and to 32 MiB.
  local record=7200 records size source=$bin/publisher
  size=$(stat -L -c %s "$source")
  records=$((size / record))
  if [ "$records" -gt 4660 ]; then records=4660; fi

  begin "Over TCP, real bytes: $source as $records records of $record bytes over 16 tags"
  head -c $((records * record)) "$source" >"$step/in.bin"
  local tags=0x1000013000118000-0x100001300011800f
  start subscriber timeout "$limit" "$bin/subscriber" --bus "$bus" --backend tcp --tags "$tags" \
    --output "$step/out.bin" --record "fixed:$record" --count "$records" --timeout 1m
  start publisher timeout "$limit" "$bin/publisher" --bus "$bus" --backend tcp --tags "$tags" \
    --input "$step/in.bin" --record "fixed:$record" --wait-subscribers 1
  finish

  local sent received
  sent=$(sha256sum <"$step/in.bin")
  received=$(sha256sum <"$step/out.bin")
  [ "$sent" = "$received" ] || fail "the files differ: sent $sent received $received"
  echo "  identical: sha256 ${sent%% *}"
}

emulated_detector() {
  local count=2000000
  begin "Emulated detector: $count messages of 1024 bytes, each with counter and checksum"
  start publisher timeout "$limit" "$bin/publisher" --bus "$bus" --tags 0x1000000000000000 \
    --emulate 1024 --count "$count" --wait-subscribers 1
  start subscriber timeout "$limit" "$bin/subscriber" --bus "$bus" --tags 0x1000000000000000 \
    --verify --count "$count" --timeout 1m
  finish
}

many_tags() {
  local count=200000 subscriber way tags=0x1000000000000000-0x10000000000003e7
  begin "1,000 tags, four subscribers, each by its own way: $count messages of 40 to 400 bytes to each"
  for subscriber in 1 2 3 4; do
    way=auto
    if [ "$subscriber" -gt 2 ]; then way=tcp; fi # as those of other hosts
    start "subscriber $subscriber" timeout "$limit" "$bin/subscriber" --bus "$bus" --backend "$way" --tags "$tags" \
      --verify --count "$count" --timeout 1m
  done
  start publisher timeout "$limit" "$bin/publisher" --bus "$bus" --tags "$tags" \
    --emulate 40-400 --count "$count" --wait-subscribers 4
  finish
}

record_and_replay() {
  local count=500000 tags=0x1000000000000000-0x10000000000003e7
  begin "Recording: $count messages of 40 to 400 bytes on 1,000 tags, and played again with their pauses"
  start record timeout "$limit" "$bin/tagbus" record --bus "$bus" --until-goodbye "$tags" "$step/run.tbr"
  start publisher timeout "$limit" "$bin/publisher" --bus "$bus" --tags "$tags" \
    --emulate 40-400 --count "$count" --wait-subscribers 1
  finish
  grep -q "whole: .*500,000 messages" "$step/record.log" || fail "the recording does not say that it is whole"

  names=()
  start subscriber timeout "$limit" "$bin/subscriber" --bus "$bus" --tags "$tags" \
    --verify --count "$count" --timeout 1m
  start replay timeout "$limit" "$bin/tagbus" replay --bus "$bus" "$step/run.tbr"
  finish
}

for program in publisher subscriber tagbus; do
  [ -x "$bin/$program" ] || { echo "demo: no $bin/$program; run make build" >&2; exit 1; }
done
bytes_from_a_file
emulated_detector
many_tags
record_and_replay
printf '\ndemo: all messages arrived, 0 lost, in %d s\n' "$SECONDS"
