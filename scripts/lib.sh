#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the C library into bin/lib: libtagbus.so.0, its link libtagbus.so, and libtagbus-core.so, which
# it loads. In there are also include/ with the headers for C and C++, pkgconfig/tagbus.pc,
# cmake/tagbus/tagbusConfig.cmake, and valgrind.supp.
#   scripts/lib.sh [etcd]    with etcd: libtagbus-core-etcd.so, too
#   OUT=DIR                  instead of bin/lib
#   CC, CFLAGS, GOARCH       as usual, for another processor: CC=aarch64-linux-gnu-gcc GOARCH=arm64
#   LDFLAGS                  of the Go linker, besides -s -w
#   GOEXPERIMENT, GOFLAGS    as usual
set -euo pipefail
cd "$(dirname "$0")/.."

out=${OUT:-bin/lib}
cc=${CC:-$(go env CC)}
case $out in /*) ;; *) out=$PWD/$out ;; esac
mkdir -p "$out"
out=$(cd "$out" && pwd)
# Test programs of several packages build it at a time.
exec 9>"$out/.lock"
flock 9
command -v "${cc%% *}" >/dev/null || { echo "the C library needs a C compiler (Debian: gcc libc6-dev)" >&2; exit 1; }

# keep FILE writes its input into a file that others may read meanwhile: as a whole, and not if it is the same.
keep() {
  cat >"$1.new"
  if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

# That of the same sources and flags is not compiled again: test programs of several packages ask for it.
inputs=$({ echo "$cc ${CFLAGS:-}"; cat bindings/c/*.c bindings/c/*.h bindings/c/libtagbus.map scripts/lib.sh; } | sha256sum)
if [ ! -e "$out/libtagbus.so.0" ] || [ "$(cat "$out/.inputs" 2>/dev/null)" != "$inputs" ]; then
  # shellcheck disable=SC2086 # words
  $cc -std=c11 -Wall -Wextra -Wpedantic -Wconversion -O2 -g -fPIC -fvisibility=hidden ${CFLAGS:-} \
    -shared -Wl,-soname,libtagbus.so.0 -Wl,--version-script=bindings/c/libtagbus.map -Wl,-z,nodelete -Wl,-z,defs \
    -o "$out/libtagbus.so.0" bindings/c/*.c -lpthread -ldl
  echo "$inputs" >"$out/.inputs"
fi
[ -e "$out/libtagbus.so" ] || ln -s libtagbus.so.0 "$out/libtagbus.so"

version=$(sed -n 's/^#define TAGBUS_VERSION "\(.*\)"$/\1/p' bindings/c/tagbus.h)
mkdir -p "$out/include/felix" "$out/pkgconfig" "$out/cmake/tagbus"
for header in bindings/c/tagbus.h bindings/cpp/*.hpp; do keep "$out/include/${header##*/}" <"$header"; done
for header in bindings/cpp/felix/*; do keep "$out/include/felix/${header##*/}" <"$header"; done
# Both find the library from where they are themselves, here and in a package.
sed -e "s|@VERSION@|$version|" bindings/c/tagbus.pc.in | keep "$out/pkgconfig/tagbus.pc"
keep "$out/valgrind.supp" <bindings/c/valgrind.supp
keep "$out/cmake/tagbus/tagbusConfig.cmake" <bindings/cpp/tagbusConfig.cmake
sed -e "s|@VERSION@|$version|" bindings/cpp/tagbusConfigVersion.cmake.in | keep "$out/cmake/tagbus/tagbusConfigVersion.cmake"

# core MODULE PACKAGE NAME builds a core, which exports one symbol.
core() {
  CC=$cc CGO_ENABLED=1 go -C "$1" build -trimpath -buildmode=c-shared \
    -ldflags "-s -w ${LDFLAGS:-} -extldflags '-Wl,--version-script=$PWD/bindings/c/core.map -Wl,-soname,$3'" -o "$out/$3" "$2"
  rm -f "$out/${3%.so}.h"
}
core . ./cmd/libtagbus libtagbus-core.so
if [ "${1:-}" = etcd ]; then
  core directory/etcd ./cmd/libtagbus-etcd libtagbus-core-etcd.so
fi
