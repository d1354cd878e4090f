#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what a release consists of, below a folder: for each processor an archive with static
# programs, a deb and an rpm, the same of the programs with etcd (tagbus-etcd) and of tagbus-bridge, deb and rpm of the
# C library and of the Python package, a wheel of that, and SHA256SUMS. The same commit gives the same bytes
# with the same compilers. The archives have the site of the documents,
# which needs Node.js and npm (scripts/docs.sh): without them it fails, unless DOCS=no. A library
# needs a C compiler for its processor (scripts/setup.sh release): without one it is left out, and named.
#   scripts/release.sh
#   VERSION=v0.1.0   where git does not tell it: in an archive of the sources
#   DIST=dist        the folder, of which nothing is kept
#   DOCS=no          archives without the site of the documents
#   ARCHS="..."      of amd64, arm64, arm7: for which processors; default: all
#   LEVEL=6          how small gzip makes it, 1 to 9: 1 takes a third of the time
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
mkdir -p "${DIST:=dist}"
: "${LEVEL:=6}"
dist=$(realpath "$DIST")

build=(-trimpath)
link="-s -w"
if [ -n "${VERSION:-}" ]; then
  build+=(-buildvcs=false)
  link+=" -X tagbus/internal/build.release=$VERSION"
else
  build+=(-buildvcs=true)
  VERSION=$(go run "${build[@]}" ./cmd/publisher --version | cut -d ' ' -f 2) || VERSION=
  if [[ $VERSION != v* ]]; then # no repository, one of another owner, a worktree of git
    echo "release: the go command does not tell the version here: set it, as in VERSION=v0.1.0 $0" >&2
    exit 1
  fi
fi
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
export VERSION SOURCE_DATE_EPOCH ARCH STAGE DEB_VERSION RPM_VERSION
export PACKAGER GLIBC LIBRARY DEVELOPMENT SAME_LIBRARY LIBDIR PYTHON

# archive NAME DIR packs a folder.
archive() {
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --transform="s,^\.,$1," -C "$2" -c . | gzip -n "-$LEVEL" >"$dist/$1.tar.gz"
}
package() {
  sed "s/gzip:6/gzip:$LEVEL/" "deploy/package/$1.yaml" >"$dist/$1.yaml"
  for PACKAGER in deb rpm; do
    if [ -n "${glibc:-}" ]; then of_library $PACKAGER; fi
    "$nfpm" package -f "$dist/$1.yaml" -p "$PACKAGER" -t "$dist/"
  done
  rm "$dist/$1.yaml"
}

# of_library PACKAGER sets what the packages of the library are called, need and where they put it.
of_library() {
  case $1 in
  deb)
    LIBRARY=libtagbus0 DEVELOPMENT=libtagbus-dev LIBDIR=/usr/lib/$triplet PYTHON=/usr/lib/python3/dist-packages
    GLIBC="libc6 (>= $glibc)" SAME_LIBRARY="libtagbus0 (= $DEB_VERSION)"
    ;;
  rpm)
    LIBRARY=libtagbus DEVELOPMENT=libtagbus-devel LIBDIR=/usr/lib64 PYTHON=/usr/share/tagbus/python
    GLIBC="libc.so.6(GLIBC_$glibc)(64bit)" SAME_LIBRARY="libtagbus = $RPM_VERSION"
    ;;
  esac
}

# compiler ARCH sets triplet and cc: what compiles C for a processor.
compiler() {
  case $1 in
  amd64) triplet=x86_64-linux-gnu ;;
  arm64) triplet=aarch64-linux-gnu ;;
  esac
  cc=$triplet-gcc
  if [ "$1" = "$(go env GOHOSTARCH)" ]; then cc=$(go env CC); fi
  # The compiler alone does not do: it needs the headers and the library of that processor.
  echo 'int main(void) { return 0; }' | $cc -include stdlib.h -xc -o /dev/null - >/dev/null 2>&1
}

# libraries makes the packages of the library for ARCH, and the first time those of Python.
libraries() {
  local triplet cc glibc packager lib=$STAGE/lib
  if ! compiler "$ARCH"; then
    echo "release: there is no library for C, C++ and Python on $ARCH: that needs $cc with its libc (Debian: gcc-$triplet libc6-dev-$ARCH-cross)"
    return
  fi
  # Without traces of the folder where it was built.
  OUT=$lib CC=$cc GOOS=linux GOARCH=$ARCH GOFLAGS="${GOFLAGS:-} ${build[*]}" LDFLAGS="-X tagbus/internal/build.release=$VERSION" \
    CFLAGS="-g0 -ffile-prefix-map=$PWD=. -Wl,-s -Wl,-z,relro,-z,now" scripts/lib.sh etcd
  glibc=$(GOWORK=off go -C tools run ./wheel glibc "$lib"/libtagbus*.so.0 "$lib"/libtagbus-core*.so)
  for packager in deb rpm; do
    of_library "$packager"
    sed -e "s|^libdir=.*|libdir=$LIBDIR|" -e "s|^includedir=.*|includedir=/usr/include|" -e '/^#/d' "$lib/pkgconfig/tagbus.pc" >"$lib/$packager.pc"
  done
  package nfpm-lib
  package nfpm-lib-etcd
  package nfpm-lib-dev
  GOWORK=off go -C tools run ./wheel make "$VERSION" "$ARCH" "$PWD/bindings/python" "$lib" "$dist" "$PWD/LICENSE" "$PWD/NOTICE" "$dist/LICENSES"
  if ! compgen -G "$dist/python3-tagbus*" >/dev/null; then
    GOWORK=off go -C tools run ./wheel metadata "$VERSION" "$PWD/bindings/python" >"$lib/METADATA"
    package nfpm-python
  fi
}

rm -rf "$dist" && mkdir "$dist"
nfpm=$(scripts/pinned.sh tools/release github.com/goreleaser/nfpm/v2/cmd/nfpm)
go run ./cmd/internal/pages "$dist/pages" "$VERSION" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)"
go -C bridge run ./cmd/internal/pages "$dist/pages-bridge" "$VERSION" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)"
gzip -n -9 "$dist"/pages/man/*.1 "$dist"/pages-bridge/man/*.1
GOWORK=off go -C tools run ./licences .. ./cmd/publisher ./cmd/subscriber ./cmd/tagbus >"$dist/LICENSES"
GOWORK=off go -C tools run ./licences ../directory/etcd ./cmd/... >"$dist/LICENSES-etcd"
GOWORK=off go -C tools run ./licences ../bridge ./cmd/tagbus-bridge >"$dist/LICENSES-bridge"
mkdir -p "$dist/docs/adr"
cp docs/*.md docs/*.png docs/*.svg "$dist/docs/"
cp docs/adr/*.md "$dist/docs/adr/"
if [ "${DOCS:-}" = no ]; then
  echo "release: the archives lack docs/site, the site of the documents, as DOCS=no says"
else
  SITE=$dist/docs/site scripts/docs.sh
fi
for ARCH in ${ARCHS:-amd64 arm64 arm7}; do
  STAGE=$dist/linux/$ARCH
  mkdir -p "$STAGE/systemd"
  # Front ends with a Zynq are arm7: armhf in Debian's words, armv7hl in those of rpm.
  GOOS=linux GOARCH=${ARCH%7} GOARM=7 go build "${build[@]}" -ldflags "$link" -o "$STAGE/" ./cmd/publisher ./cmd/subscriber ./cmd/tagbus
  cp -r "$dist"/pages/* "$dist/LICENSES" "$dist/docs" deploy/wireshark scripts/demo.sh LICENSE NOTICE README.md CHANGELOG.md "$STAGE/"
  cp deploy/systemd/tagbus.conf deploy/systemd/tagbus-{publisher,subscriber}@.service deploy/systemd/{publisher,subscriber}-demo.env "$STAGE/systemd/"
  archive "tagbus_${VERSION#v}_linux_$ARCH" "$STAGE"
  package nfpm
  if [ "$ARCH" = arm7 ]; then continue; fi # etcd itself is not supported on 32 bits

  # The tags of git are not those of this module: the version is told by hand.
  mkdir -p "$STAGE/etcd/systemd"
  GOOS=linux GOARCH=$ARCH go -C directory/etcd build "${build[@]}" -ldflags "-s -w -X tagbus/internal/build.release=$VERSION" \
    -o "$STAGE/etcd/" ./cmd/...
  cp "$dist/LICENSES-etcd" "$STAGE/etcd/LICENSES"
  cp scripts/demo-etcd.sh LICENSE NOTICE "$STAGE/etcd/"
  cp deploy/systemd/*directory* "$STAGE/etcd/systemd/"
  archive "tagbus-etcd_${VERSION#v}_linux_$ARCH" "$STAGE/etcd"
  # The same goes for this one.
  mkdir -p "$STAGE/bridge/systemd"
  GOOS=linux GOARCH=$ARCH go -C bridge build "${build[@]}" -ldflags "-s -w -X tagbus/internal/build.release=$VERSION" \
    -o "$STAGE/bridge/" ./cmd/tagbus-bridge
  cp "$dist/LICENSES-bridge" "$STAGE/bridge/LICENSES"
  cp -r "$dist"/pages-bridge/* LICENSE NOTICE "$STAGE/bridge/"
  cp deploy/systemd/*bridge-* "$STAGE/bridge/systemd/"
  archive "tagbus-bridge_${VERSION#v}_linux_$ARCH" "$STAGE/bridge"
  # Both need the package tagbus of the same version, as each kind of package writes that.
  DEB_VERSION=$(cd "$dist" && echo tagbus_*"_$ARCH.deb" | cut -d _ -f 2)
  RPM_VERSION=$(cd "$dist" && echo tagbus-[0-9]*.rpm | cut -d ' ' -f 1 | cut -d - -f 2)
  package nfpm-etcd
  package nfpm-bridge
  libraries
done
(cd "$dist" && shopt -s nullglob && sha256sum -- *.tar.gz *.deb *.rpm *.whl >SHA256SUMS && cat SHA256SUMS)
