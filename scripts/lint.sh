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

# golangci FOLDER [NAME=VALUE]... ARGUMENT... runs the linter in a folder. What others have compiled it takes as it is:
# the first run what is built without cgo, the second what is tested with libfabric. It has memory instead of time.
golangci() {
  local folder=$1
  shift
  local env=(CGO_ENABLED=0 GOGC=off GOMEMLIMIT=6GiB)
  while [[ ${1:-} == *=* ]]; do
    env+=("$1")
    shift
  done
  (cd "$folder" && env "${env[@]}" "$linter" run "$@")
}

# All modules at once: what several of them import is looked at once. With cgo, and with the tag libfabric, other files
# belong to the build: of that, only what has such files is looked at.
export GOWORK=$PWD/.ci/go.work
part "the modules" golangci . ./... ./bench/... ./bridge/... ./directory/etcd/...
cgo=(./cmd/libtagbus/core) tags=netgo,osusergo
if pkg-config --exists libfabric 2>/dev/null; then
  tags+=,libfabric
  mapfile -O 1 -t cgo < <(grep -rl --include='*.go' '^//go:build libfabric' . | xargs -n 1 dirname | sort -u)
else
  echo "SKIPPED: golangci-lint of the RDMA backend needs libfabric (Debian: libfabric-dev pkg-config)"
fi
if command -v gcc >/dev/null; then
  part "what needs cgo" golangci . CGO_ENABLED=1 --build-tags "$tags" "${cgo[@]}"
else
  echo "SKIPPED: golangci-lint of what needs cgo needs gcc (Debian: gcc libc6-dev)"
fi
part tools golangci tools GOWORK=off ./...

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed:%s\n' "$(printf ' %s;' "${failed[@]}")"
  exit 1
fi
