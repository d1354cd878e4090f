#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a program of others at the version that a module of ours pins, and prints where it is.
# go tool would do that, but it takes neither -trimpath nor -toolexec from GOFLAGS: with it the
# standard library is compiled once more.
#   scripts/pinned.sh bench github.com/nats-io/nats-server/v2     bin/nats-server
set -euo pipefail
cd "$(dirname "$0")/.."
# Of several at a time one builds: a program that is there is not written again, as others run it.
mkdir -p bin
exec 9<bin
flock 9
CGO_ENABLED=0 GOWORK=off go -C "$1" build -o "$PWD/bin/" "$2"
name=${2%/v[0-9]}
echo "$PWD/bin/${name##*/}"
