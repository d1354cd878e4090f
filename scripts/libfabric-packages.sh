#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the packages with other tests under the build tag libfabric than
# without it: those that are about the RDMA backend.
#   scripts/libfabric-packages.sh [files]
#     files: those with any other files
set -euo pipefail
cd "$(dirname "$0")/.."

form='{{.ImportPath}} {{.TestGoFiles}} {{.XTestGoFiles}}'
if [ "${1:-}" = files ]; then form+=' {{.GoFiles}} {{.CgoFiles}}'; fi
list() { go list -f "$form" "$@" ./... | sort; }
export CGO_ENABLED=1
comm -13 <(list) <(list -tags libfabric) | cut -d ' ' -f 1
