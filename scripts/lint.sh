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

# golangci FOLDER [NAME=VALUE]... ARGUMENT... runs the linter in a folder. What others have compiled it takes as it is,
# which needs names to be resolved alike in each build. It has memory instead of time.
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

# All modules at once: what several of them import is looked at once.
export GOWORK=$PWD/.ci/go.work
modules=(./... ./bench/... ./bridge/... ./directory/etcd/...)
mapfile -t without < <(grep -rl --include='*.go' '^//go:build !libfabric' . | xargs -n 1 dirname | sort -u)
if pkg-config --exists libfabric 2>/dev/null && command -v gcc >/dev/null; then
  part "the modules" golangci . CGO_ENABLED=1 --build-tags libfabric,netgo,osusergo "${modules[@]}"
  part "what stands in for RDMA" golangci . "${without[@]}"
elif command -v gcc >/dev/null; then
  echo "SKIPPED: golangci-lint of the RDMA backend needs libfabric (Debian: libfabric-dev pkg-config)"
  part "the modules" golangci . CGO_ENABLED=1 --build-tags netgo,osusergo "${modules[@]}"
else
  echo "SKIPPED: golangci-lint of the C library and of the RDMA backend needs gcc (Debian: gcc libc6-dev)"
  part "the modules" golangci . "${modules[@]}"
fi
part tools golangci tools GOWORK=off ./...

if [ ${#failed[@]} -gt 0 ]; then
  printf 'lint: failed:%s\n' "$(printf ' %s;' "${failed[@]}")"
  exit 1
fi
