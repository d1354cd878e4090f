#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs golangci-lint over all modules, in each build that has files of its own. A part that
# fails stops no other: one run tells all that is wrong, and at its end which parts it is in.
#   scripts/lint.sh
#   LINTER=FILE   golangci-lint; default: as scripts/linter.sh builds it
set -uo pipefail
cd "$(dirname "$0")/.." || exit

failed=()

# part NAME COMMAND... runs one part.
part() {
  local name=$1
  shift
  printf '=== lint: %s\n' "$name"
  "$@" || failed+=("$name")
}

linter=${LINTER:-$(scripts/linter.sh)} || exit

# golangci FOLDER [NAME=VALUE]... ARGUMENT... runs the linter in a folder. What others have compiled without cgo it
# takes as it is, which needs names to be resolved alike in each build. It has memory instead of time.
golangci() {
  local folder=$1
  shift
  local env=(CGO_ENABLED=0 GOGC=off GOMEMLIMIT=4GiB)
  while [[ ${1:-} == *=* ]]; do
    env+=("$1")
    shift
  done
  (cd "$folder" && env "${env[@]}" "$linter" run "$@")
}

# With the tag libfabric other files belong to the build. What both have in common is not
# looked at again.
libfabric() {
  local files
  files=$(scripts/libfabric-packages.sh files | sed 's,^tagbus,.,') || return
  # shellcheck disable=SC2086 # a word each
  golangci . CGO_ENABLED=1 --build-tags libfabric,netgo,osusergo $files
}

part "the module" golangci . ./...
if command -v gcc >/dev/null; then
  part "the C library" golangci . CGO_ENABLED=1 --build-tags netgo,osusergo ./cmd/libtagbus/core
else
  echo "SKIPPED: golangci-lint of the C library needs gcc (Debian: gcc libc6-dev)"
fi
if pkg-config --exists libfabric 2>/dev/null; then
  part "the RDMA backend" libfabric
else
  echo "SKIPPED: golangci-lint of the RDMA backend needs libfabric (Debian: libfabric-dev pkg-config)"
fi
part tools golangci tools GOWORK=off ./...
part bench golangci bench ./...
part directory/etcd golangci directory/etcd ./...
part bridge golangci bridge ./...

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed:%s\n' "$(printf ' %s;' "${failed[@]}")"
  exit 1
fi
