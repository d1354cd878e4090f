#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the RDMA backend over real verbs, in the machine of vm.sh:
# every package that scripts/libfabric-packages.sh names, with -short. A binary that
# has passed, and of which nothing has changed since, does not run. The race detector,
# which is slow in such a machine, has the same tests over sockets (make invariants).
#   test/verbs/run.sh [flags of a test binary, such as -test.run=NAME -test.v]
#   PACKAGES="..."   of which packages; default: all
#   AGAIN=yes        though they passed with the same binaries
#   SCRIPTS=each     of the end-to-end tests of the programs only those that start each
#                    program once, as scripts/test.sh has them over libfabric
#   BUILDS="..."     any of "race plain", for each; default: plain
# and the settings of vm.sh. If the machine cannot be had this says what is
# missing, and is a failure where CI=true.
set -euo pipefail
cd "$(dirname "$0")/../.."
vm=test/verbs/vm.sh

skip() {
  echo "SKIPPED: the tests over verbs: $1"
  [ "${CI:-}" = true ] && exit 1
  exit 0
}
if ! reasons=$($vm missing); then
  echo "$reasons"
  skip "see above for what is missing; scripts/setup.sh verbs installs it"
fi
pkg-config --exists libfabric 2>/dev/null || skip "need libfabric (Debian: libfabric-dev pkg-config)"
command -v "$(go env CC)" >/dev/null 2>&1 || skip "need a C compiler (Debian: gcc libc6-dev)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# More than it takes, as other work may slow it down.
export VERBS_WORK=$work VERBS_TIMEOUT=${VERBS_TIMEOUT:-1800}

# The first run downloads a kernel; meanwhile the binaries are built.
$vm prepare &
preparing=$!

# Each binary with its directory and name, a line each, for suite.sh: the longest
# first, so that none is left to run alone.
longest=tagbus/netio/rdma
mapfile -t packages < <(echo $longest && scripts/libfabric-packages.sh | grep -vx $longest)
if [ -n "${PACKAGES:-}" ]; then
  read -ra packages <<<"$PACKAGES"
  mapfile -t packages < <(go list "${packages[@]}")
fi
number=0
for package in "${packages[@]}"; do
  for build in ${BUILDS:-plain}; do
    flags=() note=
    if [ "$build" = race ]; then
      flags=(-race) note=" (race)"
    fi
    binary=$work/$number.test
    CGO_ENABLED=1 go test -c -vet=off -ldflags '-s -w' -tags libfabric,netgo,osusergo "${flags[@]}" -o "$binary" "$package"
    if [ -x "$binary" ]; then # it has tests
      printf '%s\t%s\t%s\n' "$number" "$(go list -f '{{.Dir}}' "$package")" "$package$note" >>"$work/all"
      number=$((number + 1))
    fi
  done
done
if [ "$number" -eq 0 ]; then
  echo "verbs: no package has tests for the build tag libfabric"
  exit 1
fi
wait "$preparing" || skip "the machine could not be made, see above"

# All that a binary depends on: itself, what it reads, and what it runs with. The kernel
# is named by the image.
mkdir "$work/machine"
echo "$($vm image) $* ${SCRIPTS:-}" >"$work/machine/image"
if [ "${SCRIPTS:-}" = each ]; then
  VERBS_SCRIPTS=$(grep -v '^#' cmd/internal/scripts/testdata/each-program.list | paste -sd '|')
  export VERBS_SCRIPTS
fi
cp -L /usr/lib/*/libfabric.so.1 /usr/lib/*/libibverbs/librxe-rdmav*.so "$work/machine"
# passed is|note NUMBER DIR NAME
passed() {
  local own="$work/own/$2"
  if [ "$1" = is ]; then
    mkdir -p "$own"
    ln "$work/$2.test" "$own/test"
    if [ -d "$3/testdata" ]; then cp -r "$3/testdata" "$own"; fi
  fi
  scripts/passed.sh "$1" "verbs-${4//[^A-Za-z0-9]/-}" "$work/machine" test/verbs "$own"/*
}
while IFS=$'\t' read -r number dir name; do
  passed is "$number" "$dir" "$name" || printf '%s\t%s\t%s\n' "$number" "$dir" "$name" >>"$work/list"
done <"$work/all"
if ! [ -e "$work/list" ]; then exit; fi

start=$SECONDS status=0
$vm run test/verbs/suite.sh "$work" -test.short "$@" || status=$?
printf 'verbs: the machine ran %d s\n' $((SECONDS - start))

# What go test -json would say of each package, for the report.
strict=()
if [ "${CI:-}" = true ]; then
  strict=(-strict)
fi
GOWORK=off go -C tools build -o ../bin/testreport ./testreport
while IFS=$'\t' read -r number _ name; do
  touch "$work/$number.out"
  go tool test2json -t -p "$name" <"$work/$number.out"
  code=$(cat "$work/$number.status" 2>/dev/null || echo "none, the machine ended before")
  word=ok action=pass
  if [ "$code" != 0 ]; then
    word="FAIL with status $code" action=fail
  fi
  printf '{"Action":"output","Package":"%s","Output":"%s\\t%s\\n"}\n' "$name" "$word" "$name"
  printf '{"Action":"%s","Package":"%s"}\n' $action "$name"
done <"$work/list" | bin/testreport "${strict[@]}" -allow scripts/allowed-skips.txt || exit 1
[ "$status" -eq 0 ] || exit "$status"
while IFS=$'\t' read -r number dir name; do
  passed note "$number" "$dir" "$name"
done <"$work/list"
