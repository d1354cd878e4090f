#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the conformance suites and the random runs of the backends again and
# again, to find what fails only now and then: in every build (with the race
# detector, with the invariants, with both, with neither), each time in another
# order. Stops at the first failure with its output. For use by hand.
#   RUNS=100          how often
#   TESTS=REGEXP      which tests; default: those named below
#   PACKAGES="..."    of which packages; default: all that use netio/netiotest
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUNS:-100}
tests=${TESTS:-'^(TestConformance|TestMemoryKeepsTheContract|TestMemory.*MatchesTheModel|TestRandomRun|TestFailNth.*KeepsTheContract)$'}

# In builds without the race detector too.
export TAGBUS_TESTS=all

# A backend is what has the conformance suite among its tests.
read -ra packages <<<"${PACKAGES:-$(go list -f '{{.ImportPath}} {{join .XTestImports " "}}' ./netio/... ./internal/testkit/memnet |
  awk '/ tagbus\/netio\/netiotest( |$)/ { print $1 }' | tr '\n' ' ')}"

builds=("" "-tags invariants")
if command -v "$(go env CC)" >/dev/null 2>&1; then
  export CGO_ENABLED=1
  builds+=("-race" "-race -tags invariants")
else
  echo "flake: the race detector needs a C compiler (Debian: gcc libc6-dev); going on without"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each test binary and where it runs; the test's own package is built once.
binaries=() directories=() names=()
for package in "${packages[@]}"; do
  for build in "${builds[@]}"; do
    binary=$work/${#binaries[@]}.test
    # shellcheck disable=SC2086 # a build is several flags
    go test -c $build -o "$binary" "$package"
    [ -x "$binary" ] || continue # no tests
    if [ -z "$("$binary" -test.list "$tests")" ]; then
      continue # none of these
    fi
    binaries+=("$binary")
    directories+=("$(go list -f '{{.Dir}}' "$package")")
    names+=("$package${build:+ ($build)}")
  done
done
if [ ${#binaries[@]} -eq 0 ]; then
  echo "flake: no test matches $tests"
  exit 1
fi
printf 'flake: %d runs of\n' "$runs"
printf '  %s\n' "${names[@]}"

start=$SECONDS
for ((run = 1; run <= runs; run++)); do
  for i in "${!binaries[@]}"; do
    if ! (cd "${directories[i]}" && "${binaries[i]}" -test.run "$tests" -test.shuffle=on -test.failfast -test.timeout 10m) >"$work/log" 2>&1; then
      cat "$work/log"
      printf '\nflake: FAILED in run %d of %d, after %d s: %s\n' "$run" "$runs" $((SECONDS - start)) "${names[i]}"
      exit 1
    fi
  done
  printf 'flake: run %d of %d passed, %d s\n' "$run" "$runs" $((SECONDS - start))
done
