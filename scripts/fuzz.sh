#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each fuzz target of the module and of bridge, one after the other.
#   FUZZTIME=20s|10000x   how long each runs: a time, or a number of inputs, of which a
#                         target that needs seconds for a tenth has only that tenth
#   GUIDED=no             with the binaries of the tests, which do not tell the fuzzer what an
#                         input has reached: for a few inputs it is not worth that everything is compiled once more
# With CI=true a package that passed, and of which nothing has changed since, does not run.
# A failing input is written to testdata/fuzz of its package; commit it with the
# fix, and `go test` replays it for ever.
set -euo pipefail
cd "$(dirname "$0")/.."
fuzztime=${FUZZTIME:-20s}
export CGO_ENABLED=0 # as other tests: they share what is compiled
guide=(-fuzz Fuzz)
if [ "${GUIDED:-}" = no ]; then guide=(); fi

# The fuzzer's own corpus is kept by go clean -fuzzcache's rules, beside that of go test.
corpus=$(go env GOCACHE)/fuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# target DIR NAME runs one target of the binary of its package.
target() {
  local begin=$SECONDS tenth
  if [[ $fuzztime == *x ]]; then
    tenth=$(((${fuzztime%x} + 9) / 10)) # 0 would be without end
    run "$1" "$2" ${tenth}x || return 0
    if ((SECONDS - begin < 4)); then run "$1" "$2" $((9 * tenth))x || return 0; fi
  else
    run "$1" "$2" "$fuzztime" || return 0
  fi
  printf '%-28s %s\n' "$2" "$(grep '^fuzz: elapsed' "$work/log" | tail -n 1)"
}

# run DIR NAME TIME is target for one time. A failure is printed, and noted in failed.
run() {
  if (cd "$1" && "$work/test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$3" \
    -test.fuzzminimizetime 100x -test.fuzzcachedir "$corpus/$import") >"$work/log" 2>&1; then
    return 0
  fi
  if grep -q 'context deadline exceeded' "$work/log" && ! grep -q 'Failing input written' "$work/log"; then
    # golang.org/issue/75804, mended in Go 1.27: the end of a -fuzztime that is
    # a time may be taken for a failure. No input failed.
    printf '%-28s time is up\n' "$2"
  else
    cat "$work/log"
    failed=1
  fi
  return 1
}

# go test builds and links a package for each of its targets; once is enough, and lint vets it. By default a
# minute is spent on making each new input smaller.
any=no
while read -r dir; do
  any=yes
  import=$(cd "$dir" && go list .)
  (cd "$dir" && go test -c -vet=off -ldflags '-s -w' "${guide[@]}" -o "$work/test" .)
  step=fuzz-$fuzztime${GUIDED:-}${dir#"$PWD"}
  step=${step//\//-}
  depends=("$work/test")
  if [ -d "$dir/testdata" ]; then depends+=("$dir/testdata"); fi
  if [ "${CI:-}" = true ] && scripts/passed.sh is "$step" "${depends[@]}"; then continue; fi
  before=$failed
  while read -r name; do
    target "$dir" "$name"
  done < <(cd "$dir" && "$work/test" -test.list '^Fuzz' | grep '^Fuzz')
  if [ "$failed" = "$before" ]; then scripts/passed.sh note "$step" "${depends[@]}"; fi
done < <(scripts/packages-with.sh Fuzz && scripts/packages-with.sh Fuzz bridge)
if [ $any = no ]; then
  echo "no fuzz targets"
fi
exit $failed
