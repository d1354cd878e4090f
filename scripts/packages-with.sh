#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the directories of the packages whose tests have functions of a kind, so
# that no others are built for them.
#   scripts/packages-with.sh Fuzz|Benchmark [MODULE]   MODULE: its folder; default: the root
set -euo pipefail
cd "$(dirname "$0")/../${2:-.}"

go list -f '{{range .TestGoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}' ./... |
  { grep -v '^$' || true; } | { xargs -r -d '\n' grep -l "^func $1" || true; } | xargs -r -d '\n' dirname | sort -u
