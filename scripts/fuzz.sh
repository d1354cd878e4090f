#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target of the module, one after the other.
#   FUZZTIME=20s|10000x   how long each runs: a time or a number of inputs
# A failing input is written to testdata/fuzz of its package; commit it with the
# fix, and `go test` replays it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-20s}

mapfile -t packages < <(scripts/packages-with.sh Fuzz)
# `go test -list` prints the names and then the line of their package.
targets=$(go test -list '^Fuzz' "${packages[@]}" |
  awk '/^Fuzz/ { names[++n] = $1 } /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')
if [ -z "$targets" ]; then
  echo "no fuzz targets"
  exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
while read -r package name; do
  # By default a minute is spent on making each new input smaller.
  if go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -fuzzminimizetime 100x "$package" >"$log" 2>&1; then
    printf '%-28s %s\n' "$name" "$(grep '^fuzz: elapsed' "$log" | tail -n 1)"
  elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
    # golang.org/issue/75804, mended in Go 1.27: the end of a -fuzztime that is
    # a time may be taken for a failure. No input failed.
    printf '%-28s time is up\n' "$name"
  else
    cat "$log"
    failed=1
  fi
done <<<"$targets"
exit $failed
