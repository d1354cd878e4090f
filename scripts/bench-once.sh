#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs each Go benchmark of the module once, so that none is broken when it is needed; it
# measures nothing. With CI=true a package that passed, and of which nothing has changed since,
# does not run.
#   scripts/bench-once.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
while read -r dir; do
  name=bench-once${dir#"$PWD"}
  name=${name//\//-}
  go test -c -vet=off -ldflags '-s -w' -o "$work/test" "$dir"
  depends=("$work/test")
  if [ -d "$dir/testdata" ]; then depends+=("$dir/testdata"); fi
  if [ "${CI:-}" = true ] && scripts/passed.sh is "$name" "${depends[@]}"; then continue; fi
  if (cd "$dir" && "$work/test" -test.run '^$' -test.bench . -test.benchtime 1x -test.benchmem -test.timeout 5m) >"$work/log" 2>&1; then
    printf '%s: %d benchmarks\n' "$name" "$(grep -c '^Benchmark' "$work/log")"
    scripts/passed.sh note "$name" "${depends[@]}"
  else
    cat "$work/log"
    printf '%s: FAILED\n' "$name"
    failed=1
  fi
done < <(scripts/packages-with.sh Benchmark)
exit $failed
