#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks at the module as other systems and processors see it. On macOS and Windows the
# packages tags and recording, and tagbus with its commands rec, are for a laptop too; of
# everything else the compiler says one line a package: that it needs Linux. Everything
# builds for the other processors that run Linux, and tests of a 32-bit build run here.
#   scripts/elsewhere.sh [quick]
#     quick: types are checked, of tests too, and the standard library is not compiled for
#     each of them, which takes minutes of a processor. make release-check compiles for arm
#     and arm64, and so do the tests here for 32 bits, of which it runs fewer.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
needs_linux='undefined: this_needs_Linux__'

GOWORK=off go -C tools build -o ../bin/typecheck ./typecheck
for system in darwin/arm64 windows/amd64 linux/386 linux/arm linux/arm64 linux/riscv64 linux/s390x; do
  # A package that has no file for a system has no types that could be wrong; a package that imports it does not build.
  GOOS=${system%/*} GOARCH=${system#*/} go list -deps ./... >/dev/null
  GOOS=${system%/*} GOARCH=${system#*/} bin/typecheck -allow "$needs_linux" ./...
done

build() {
  local system said
  for system in darwin/arm64 windows/amd64; do
    export GOOS=${system%/*} GOARCH=${system#*/}
    go build -o /dev/null ./cmd/tagbus
    go vet ./tags ./recording ./internal/payload ./internal/flock ./cmd/tagbus ./cmd/internal/rec ./cmd/internal/convert
    said=$(go build ./... 2>&1 || true)
    if grep -v '^#' <<<"$said" | grep -v "$needs_linux"; then
      echo "$system: a package fails by other errors than that it needs Linux (see internal/checks/elsewhere_test.go)" >&2
      exit 1
    fi
    echo "$system: builds"
  done
  export GOOS=linux
  for GOARCH in 386 arm arm64 riscv64 s390x; do
    export GOARCH
    go build ./...
    echo "linux/$GOARCH: builds"
  done
  unset GOOS GOARCH
}
if [ "${1:-}" != quick ]; then build; fi

# runs_386 reports whether the kernel runs a program that is for a 386 and does nothing but
# end: one for amd64 is built to, or not.
runs_386() {
  local program status=0
  program=$(mktemp)
  printf '\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x03\0\x01\0\0\0\x54\x80\x04\x08\x34\0\0\0' >"$program"
  printf '\0\0\0\0\0\0\0\0\x34\0\x20\0\x01\0\0\0\0\0\0\0' >>"$program"
  printf '\x01\0\0\0\0\0\0\0\0\x80\x04\x08\0\x80\x04\x08\x5d\0\0\0\x5d\0\0\0\x05\0\0\0\0\x10\0\0' >>"$program"
  printf '\xb8\x01\0\0\0\x31\xdb\xcd\x80' >>"$program" # exit(0)
  chmod +x "$program"
  "$program" 2>/dev/null || status=1
  rm -f "$program"
  return $status
}

# QEMU knows the processors of front ends, but not all that Go needs of a 386.
flags=(-short)
if [ "$(uname -m)" = x86_64 ] && runs_386; then
  export GOARCH=386
elif command -v qemu-arm >/dev/null; then
  export GOARCH=arm GOARM=7
  # It takes the address space of a program for itself, where a test looks at that.
  flags+=(-exec qemu-arm -skip TestRegionIsOutsideTheHeap)
else
  echo "SKIPPED: the tests of a 32-bit build need a kernel that runs 386, or QEMU (Debian: qemu-user)"
  [ "${CI:-}" != true ] || exit 1
  exit 0
fi
# Where 64-bit numbers and sizes matter most.
echo "tests of linux/$GOARCH:"
small=(./tags ./subscription ./recording ./bus/directory/codec ./bus/internal/{cache,hostaddr,ledger,tagset,wire} ./netio ./internal/payload)
if [ "${1:-}" != quick ]; then
  mapfile -t small < <(go list ./tags ./subscription ./recording ./acl ./internal/... ./bus/directory ./bus/directory/codec ./bus/internal/... ./netio ./netio/internal/... | grep -vE '/internal/(site|checks|testkit/memnet)$')
fi
go test -vet=off "${flags[@]}" "${small[@]}"
# A program for another processor that has the whole bus takes a minute to be built and run.
if [ "${1:-}" != quick ]; then
  go test -vet=off "${flags[@]}" -run 'Config_|_Publish_|_Subscribe_|_gaps|Receiver_is|Subscription_(each|those|quick)|appearAtOnce|Close_thatCannot' ./bus
fi
