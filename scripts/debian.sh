#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a folder with a clean Debian, which has nothing but some packages. What mmdebstrap has made is kept in
# ~/.cache/tagbus/debian for a week: to make it takes a minute, and is the same each time.
#   scripts/debian.sh FOLDER PACKAGE,...
#   SUITE=bookworm   which Debian
set -euo pipefail
folder=$1 packages=$2
kept=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tagbus/debian
file=$kept/${SUITE:=bookworm}-$(sha256sum "$0" - <<<"$packages" | sha256sum | head -c 16).tar
mkdir -p "$kept"
find "$kept" -type f -mtime +7 -delete
mkdir -p "$folder"
if [ -e "$file" ]; then
  tar -C "$folder" -xpf "$file" --numeric-owner
  exit
fi
mmdebstrap --quiet --variant=minbase --dpkgopt=force-unsafe-io --include="$packages" "$SUITE" "$folder"
rm -f "$folder"/etc/{apt/apt.conf.d,dpkg/dpkg.cfg.d}/99mmdebstrap
part=$(mktemp "$kept/part.XXXXXX")
tar -C "$folder" -cpf "$part" --numeric-owner --exclude=./proc/* --exclude=./sys/* . && mv "$part" "$file"
