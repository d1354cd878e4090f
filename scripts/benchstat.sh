#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the Go benchmarks of this tree with those of another commit. Both are
# run in turn, so that what else the machine does hits both alike.
#   scripts/benchstat.sh [BASE]   BASE: a commit; default main
#   BENCH=. BENCHTIME=1s COUNT=6   as of make gobench; COUNT is at least 6
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-main}
count=${COUNT:-6}
if [ "$count" -lt 6 ]; then count=6; fi # fewer say nothing

tmp=$(mktemp -d)
cleanup() {
  git worktree remove --force "$tmp/base" 2>/dev/null || true
  rm -rf "$tmp"
}
trap cleanup EXIT
git worktree add --quiet --detach "$tmp/base" "$base"

run() { # DIRECTORY OUTPUT
  (cd "$1" && go test -run '^$' -bench "${BENCH:-.}" -benchtime "${BENCHTIME:-1s}" -benchmem ./...) >>"$2"
}
for ((i = 1; i <= count; i++)); do
  echo "benchstat: round $i of $count" >&2
  run "$tmp/base" "$tmp/base.txt"
  run . "$tmp/here.txt"
done
go tool -modfile=tools/go.mod benchstat "$base=$tmp/base.txt" "here=$tmp/here.txt"
