#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests under the race detector, if there is a C compiler to build it.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "$(go env CC)" >/dev/null 2>&1; then
  echo "SKIPPED: the race detector needs a C compiler (Debian: gcc libc6-dev)"
  [ "${CI:-}" = true ] && exit 1
  exit 0
fi
CGO_ENABLED=1 scripts/test.sh -race "$@"
