#!/usr/bin/env bash
# Runs the tests of the module and names every test that was skipped.
#   scripts/test.sh [flags of go test]
# With CI=true a skip fails the run unless scripts/allowed-skips.txt lists its
# reason: on the machine that decides, nothing may be left untested unseen.
set -euo pipefail
cd "$(dirname "$0")/.."

strict=()
if [ "${CI:-}" = true ]; then
  strict=(-strict)
fi
go -C tools build -o ../bin/testreport ./testreport
go -C tools test ./...
# The order is random, so that no test can lean on another; a failure prints
# the seed (-shuffle=SEED repeats it). The time limit is for a machine that does
# other things too: netio/netiotest and netio/tcp take a minute of processor time
# each under the race detector.
go test -json -shuffle=on -timeout 10m "$@" ./... |
  bin/testreport "${strict[@]}" -allow scripts/allowed-skips.txt
