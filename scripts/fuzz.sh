#!/usr/bin/env bash
# Runs each fuzz target of the module, as many at once as there are processors, with
# one worker each: building and starting a target, which takes much of its time, keeps
# only one processor busy.
#   FUZZTIME=20s|10000x   how long each runs: a time or a number of inputs
# A failing input is written to testdata/fuzz of its package; commit it with the
# fix, and `go test` replays it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZTIME=${FUZZTIME:-20s}

# `go test -list` prints the names and then the line of their package.
targets=$(go test -list '^Fuzz' ./... |
  awk '/^Fuzz/ { names[++n] = $1 } /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }')
if [ -z "$targets" ]; then
  echo "no fuzz targets"
  exit 0
fi

# fuzz PACKAGE NAME runs one target.
fuzz() {
  local package=$1 name=$2 log status=0
  log=$(mktemp)
  # By default a minute is spent on making each new input smaller.
  if go test -run '^$' -fuzz "^$name\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 100x -parallel 1 "$package" >"$log" 2>&1; then
    printf '%-28s %s\n' "$name" "$(grep '^fuzz: elapsed' "$log" | tail -n 1)"
  elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
    # golang.org/issue/75804, mended in Go 1.27: the end of a -fuzztime that is
    # a time may be taken for a failure. No input failed.
    printf '%-28s time is up\n' "$name"
  else
    cat "$log"
    status=1
  fi
  rm -f "$log"
  return $status
}
export -f fuzz

xargs -P "$(nproc)" -L 1 bash -c 'fuzz "$@"' fuzz <<<"$targets"
