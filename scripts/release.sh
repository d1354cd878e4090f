#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes what a release consists of, below dist: for each processor an archive with static
# programs, a deb and an rpm, and SHA256SUMS. The same commit gives the same bytes.
#   scripts/release.sh
#   VERSION=v0.1.0   where git does not tell it: in an archive of the sources
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

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
export VERSION SOURCE_DATE_EPOCH ARCH STAGE

rm -rf dist && mkdir dist
go run ./cmd/internal/pages dist/pages "$VERSION" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)"
gzip -n -9 dist/pages/man/*.1
for ARCH in amd64 arm64; do
  name=tagbus_${VERSION#v}_linux_$ARCH STAGE=dist/linux/$ARCH
  mkdir -p "$STAGE"
  GOOS=linux GOARCH=$ARCH go build "${build[@]}" -ldflags "$link" -o "$STAGE/" ./cmd/publisher ./cmd/subscriber ./cmd/tagbus
  cp -r dist/pages/* deploy/systemd deploy/wireshark scripts/demo.sh LICENSE NOTICE README.md CHANGELOG.md "$STAGE/"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --transform="s,^\.,$name," -C "$STAGE" -c . | gzip -n >"dist/$name.tar.gz"
  for packager in deb rpm; do
    go tool -modfile=tools/release/go.mod nfpm package -f deploy/package/nfpm.yaml -p "$packager" -t dist/
  done
done
(cd dist && sha256sum -- *.tar.gz *.deb *.rpm >SHA256SUMS && cat SHA256SUMS)
