#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Writes CPU and allocation profiles of the publisher and the subscriber of a
# measurement, and shows where the time goes.
#   ONLY='^throughput/40B$' SYSTEMS='^tagbus$' scripts/profile.sh
set -euo pipefail
cd "$(dirname "$0")/../bench"
mkdir -p out/profiles
rm -f out/profiles/*.prof
CGO_ENABLED=0 go run ./cmd/run -profile full -rounds 1 -seconds 5 -patience 30s \
  -only "${ONLY:-^throughput/40B$}" -systems "${SYSTEMS:-^tagbus$}" -profiles "$PWD/out/profiles"
for profile in out/profiles/*.cpu.prof; do
  printf '\n== %s\n' "bench/$profile"
  go tool pprof -top -nodecount=25 "$profile" 2>/dev/null
done
printf '\nAll of them: bench/out/profiles. For example: go tool pprof -http=: bench/%s\n' "$profile"
