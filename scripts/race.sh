#!/usr/bin/env bash
# Runs the tests under the race detector, if there is a C compiler to build it.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "$(go env CC)" >/dev/null 2>&1; then
  echo "SKIPPED: the race detector needs a C compiler (Debian: gcc libc6-dev)"
  [ "${CI:-}" = true ] && exit 1
  exit 0
fi
# In a race build regions are in the Go heap, and the race detector takes several times
# as much again. With the limit the tests of the RDMA backend take 12 GB instead of 18,
# and 234 s instead of 279 alone; without it they and netio/tcp have used up 24 GiB.
export GOMEMLIMIT=${GOMEMLIMIT:-8GiB}
CGO_ENABLED=1 scripts/test.sh -race "$@"
