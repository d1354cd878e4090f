#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs random programs against the models of the bus, on a network and a clock that are not
# real, until the time is over. A program that fails is made as short as it can be and kept
# below bus/testdata/rapid, where each run of the tests begins with it.
#   HOURS=8 scripts/search.sh
# It has the lowest priority: other work goes before it.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go test -c -o "$work/bus.test" ./bus
models=(TestSubscriber_model TestSender_model TestAccess_model)
TAGBUS_SEARCH=$(awk -v hours="${HOURS:-1}" 'BEGIN { printf "%ds", hours * 3600 }')
export TAGBUS_SEARCH
cd bus
running=()
for model in "${models[@]}"; do
  nice -n 19 "$work/bus.test" -test.run "^$model\$" -test.v -test.timeout 0 >"$work/$model" 2>&1 &
  running+=($!)
done
failed=0
for i in "${!models[@]}"; do
  wait "${running[i]}" || { failed=1; tail -n 40 "$work/${models[i]}"; }
  printf '%s: %s\n' "${models[i]}" "$(grep -oE '[0-9]+ steps in [0-9]+ programs' "$work/${models[i]}" || echo 'no count: it has ended early')"
done
exit $failed
