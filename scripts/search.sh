#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs random programs against the models of the bus, on a network and a clock that are not
# real, until the time is over. A program that fails is made as short as it can be and kept
# below bus/testdata/rapid, where each run of the tests begins with it.
#   HOURS=8 scripts/search.sh
# It has the lowest priority: other work goes before it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d) running=()
trap 'kill "${running[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
go test -c -o "$work/bus.test" ./bus
models=(TestSubscriber_model TestSender_model TestAccess_model)
TAGBUS_SEARCH=$(awk -v hours="${HOURS:-1}" 'BEGIN { printf "%ds", hours * 3600 }')
# A program has little memory and many goroutines: a processor for each model, and garbage that waits.
export TAGBUS_SEARCH GOMAXPROCS=1 GOGC=800
cd bus
# The kernel shares out processors among sessions first, and a nice value counts within one only.
readonly idle='{ echo 19 >/proc/self/autogroup; } 2>/dev/null || true; exec nice -n 19 "$@"'
# one MODEL says what a model has found as soon as it has.
one() {
  local status=0
  setsid sh -c "$idle" sh "$work/bus.test" -test.run "^$1\$" -test.v -test.timeout 0 >"$work/$1" 2>&1 &
  trap 'kill $! 2>/dev/null' EXIT
  wait $! || { status=1; grep -v '\[rapid\] OK' "$work/$1" | tail -n 40; }
  printf '%s: %s\n' "$1" "$(grep -oE '[0-9]+ steps in [0-9]+ programs' "$work/$1" || echo 'no count: it has ended early')"
  return $status
}
for model in "${models[@]}"; do
  one "$model" &
  running+=($!)
done
failed=0
for process in "${running[@]}"; do wait "$process" || failed=1; done
exit $failed
