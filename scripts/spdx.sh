#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Gives each of our source files that lacks it the line that names its licence.
# TestEverySourceFileNamesItsLicence finds them.
#   scripts/spdx.sh
set -euo pipefail
cd "$(dirname "$0")/.."
readonly line='SPDX-License-Identifier: Apache-2.0'

git ls-files --cached --others --exclude-standard | grep -v '\(^\|/\)testdata/\|/static/uplot/' | while read -r file; do
  [ -f "$file" ] || continue
  first=$(head -n 1 "$file" | tr -d '\0')
  case $file,$first in
  *,'#!'*) where=1a mark='#' ;; # a script starts with the program that reads it
  *.py,*) where=1i mark='#' ;;
  # An empty line keeps it out of the comment of the package.
  *.go,* | *.c,* | *.h,* | *.cpp,* | *.hpp,* | *.js,* | *.mjs,*) where=1i mark='//' ;;
  *) continue ;;
  esac
  head -n 3 "$file" | grep -qF "$line" && continue
  if [ "$mark" = // ]; then sed -i "$where // $line\n" "$file"; else sed -i "$where # $line" "$file"; fi
done
