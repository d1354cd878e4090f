#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the packages with other tests under the build tag libfabric than
# without it: those that are about the RDMA backend.
#   scripts/libfabric-packages.sh
set -euo pipefail
cd "$(dirname "$0")/.."

list() { go list -f '{{.ImportPath}} {{.TestGoFiles}} {{.XTestGoFiles}}' "$@" ./... | sort; }
export CGO_ENABLED=1
comm -13 <(list) <(list -tags libfabric) | cut -d ' ' -f 1
