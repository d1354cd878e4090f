#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds bin/golangci-lint, as tools/go.mod pins it, and prints where it is. It has those
# linters that .golangci.yml enables and no others: the hundred that it does not run are half of
# what there would be to compile.
#   scripts/linter.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0
readonly module=github.com/golangci/golangci-lint/v2 list=pkg/lint/lintersdb/builder_linter.go
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# go build takes a copy instead of the module, of which one file is another: the list of linters.
source=$(GOWORK=off go -C tools mod download -json $module | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
cp -r "$source" "$work/linter"
chmod -R u+w "$work/linter"
awk -v imports="\"$module/pkg/golinters/" '
  FNR == NR && /enable: *\[/ { print "linter.sh: .golangci.yml: enable takes a line for each name, or none of them is built" >"/dev/stderr"; exit 1 }
  FNR == NR { if ($1 == "-") enabled[$2]; next }
  index($0, imports) { name = $0; sub(/.*\//, "", name); sub(/".*/, "", name); if (!(name in enabled)) next }
  /^\t\tlinter\.NewConfig\(/ { name = $0; sub(/.*NewConfig\(/, "", name); sub(/\..*/, "", name); left = name != "golinters" && !(name in enabled) }
  /^$/ || /^\t}/ { left = 0 }
  !left
  /placeholderReplacer :=/ { print "_ = placeholderReplacer" } # those that use it may all be left out
' .golangci.yml "$source/$list" >"$work/linter/$list"
cp tools/go.mod tools/go.sum "$work/"
go mod edit -replace "$module=$work/linter" "$work/go.mod"
GOWORK=off go -C tools build -modfile="$work/go.mod" -ldflags '-s -w' -o ../bin/ "$module/cmd/golangci-lint"
echo "$PWD/bin/golangci-lint"
