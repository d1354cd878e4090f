#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Remembers what has passed by the content of all that it depends on, for steps that take
# minutes and that go test, which does the same, knows nothing of.
#   scripts/passed.sh is NAME FILE...     says so and succeeds if NAME passed with these files
#   scripts/passed.sh note NAME FILE...   notes that it has
#   scripts/passed.sh key NAME FILE...    prints the name of NAME with these files, for what is kept of it
# A FILE may be a folder, of which all files count. What is noted lies below
# ~/.cache/tagbus/passed and is forgotten after a week. AGAIN=yes makes everything run.
set -euo pipefail
what=$1 name=$2
shift 2
folder=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tagbus/passed
# Contents and names within what was given, not where that lies: a fresh checkout elsewhere
# has the same key.
key=$(for file in "$@"; do
  (cd "$(dirname "$file")" && find "$(basename "$file")" -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum)
done | sha256sum | head -c 32)
case $what in
is)
  if [ "${AGAIN:-}" != yes ] && [ -e "$folder/$name-$key" ]; then
    echo "$name: nothing that it depends on has changed since it passed, $(cat "$folder/$name-$key"): it does not run (AGAIN=yes)"
    exit
  fi
  exit 1
  ;;
note)
  mkdir -p "$folder"
  find "$folder" -type f -mtime +7 -delete
  date -u +%Y-%m-%dT%H:%M:%SZ >"$folder/$name-$key"
  ;;
key) echo "$name-$key" ;;
*)
  echo "passed.sh: $what: want is, note or key" >&2
  exit 2
  ;;
esac
