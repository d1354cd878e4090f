#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the module, with the RDMA backend over tcp too if libfabric
# is there, and names every test that was skipped.
#   scripts/test.sh [flags of go test]
#   PACKAGES="..."   of which packages of the root module; default: all, of directory/etcd and bridge too
#   SCRIPTS=each     of the end-to-end tests of the programs only those that start each
#                    program once (cmd/internal/scripts/testdata/each-program.list), which
#                    is what runs over libfabric unless it is SCRIPTS=all
#   RACED=apart      not what race.sh tests too, unless the tests do something else there: for
#                    where both run
# With CI=true a skip fails the run unless scripts/allowed-skips.txt lists its
# reason: on the machine that decides, nothing may be left untested unseen.
# Up to three tests that failed run once more, alone, unless it was a data race, a
# panic or a leak. One that passes then is named as FLAKY and fails nothing: it has a bug,
# or the product has, and a change that has nothing to do with it goes in. AGAIN=no runs
# none again.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

strict=()
if [ "${CI:-}" = true ]; then
  strict=(-strict)
fi
# Tested is what users get: programs without cgo, except where it is the point.
export CGO_ENABLED=${CGO_ENABLED:-0}
GOWORK=off go -C tools build -o ../bin/ ./testreport ./goroutines
GOWORK=off go -C tools test ./...

libfabric=no
if pkg-config --exists libfabric 2>/dev/null && command -v "$(go env CC)" >/dev/null 2>&1; then
  libfabric=yes
else
  echo "SKIPPED: the RDMA backend needs libfabric and a C compiler (Debian: libfabric-dev pkg-config gcc libc6-dev)"
fi

# Of several -tags the last one counts.
# Names are resolved alike in all builds, with cgo and without it, so that they share what they have compiled.
own='' tags=libfabric,netgo,osusergo args=("$@") tagged=()
for ((i = 1; i < $#; i++)); do
  if [ "${args[i - 1]}" = -tags ]; then
    own=${args[i]}
    tags=$tags,$own
    args[i]=netgo,osusergo,$own
    tagged=(-tags "${args[i]}")
  fi
done

# The order is random, so that no test can lean on another; a failure prints
# the seed (-shuffle=SEED repeats it). Under the race detector, and on the machine that
# decides, it is not: go test keeps what has passed by the content of all that it depends on,
# only in the usual order. The time limit is for a machine that does other things too:
# internal/testkit/memnet and netio/tcp take a minute of processor time each under the race detector,
# and bus some minutes.
shuffle=(-shuffle=on)
readonly limit=20m
if [ "${CI:-}" = true ]; then shuffle=(); fi
case " $* " in
*" -race "*) shuffle=() ;;
esac
run() { go test -json "${shuffle[@]}" -timeout $limit "$@"; }
# Two parts are modules of their own, so that users of this one need none of what they need.
# Their tests do the usual here: make members has the rest of the first, which waits for minutes.
# other MODULE tests one of them; other MODULE FLAG... what the flags name.
other() {
  local module=$1
  shift
  if [ $# = 0 ]; then
    mapfile -t < <(cd "$module" && selected)
    some "${MAPFILE[@]}" || return
    set -- "${args[@]}" "${MAPFILE[@]}"
  fi
  env -u TAGBUS_TESTS go -C "$module" test -json "${shuffle[@]}" -timeout $limit "$@"
}
packages=() short=()
if [ $libfabric = yes ]; then
  mapfile -t packages < <(scripts/libfabric-packages.sh)
  # Once plain, and once in the build that checks most: the backend as a whole, and of what is
  # above it, which does not know which backend it has, what a slow device runs.
  case " $* " in
  *" -tags "*)
    mapfile -t short < <(printf '%s\n' "${packages[@]}" | grep -v /netio/)
    mapfile -t packages < <(printf '%s\n' "${packages[@]}" | grep /netio/)
    ;;
  *" -race "*) packages=() ;;
  esac
fi
# With its default of 16 KiB the provider ofi_rxm touches 3 GB for 80 listening endpoints,
# each on the loop for up to half a second on a busy machine. The tests under the race
# detector keep the default, which is what users have.
case " $* " in
*" -race "*) ;;
*) export FI_OFI_RXM_BUFFER_SIZE=${FI_OFI_RXM_BUFFER_SIZE:-4096} ;;
esac

work=$(mktemp -d)
files=''
# A test that was killed leaves what it had mounted, which is not ours to remove.
trap 'rm -rf --one-file-system "$work" ${files:+"$files"}' EXIT
# The files of the tests are in memory where it has room: a disk that others keep busy stands still for seconds,
# which a program rightly takes for one that does not answer.
memory=/dev/shm
room() {
  local free available
  free=$(df -k --output=avail $memory | tail -n 1) available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  ((free > 8 << 20 && available > 8 << 20)) # of 1 KiB
}
if [ -z "${TMPDIR:-}" ] && room 2>/dev/null && files=$(mktemp -d -p $memory t.XXXXXX); then
  chmod 1777 "$files" # as /tmp: some tests are of two users
  cp "$(type -P true)" "$files/runs"
  # A container's memory may be one that no program runs from.
  if "$files/runs" 2>/dev/null; then
    export TMPDIR=$files
  fi
fi
beside() { CGO_ENABLED=1 run "${args[@]}" -tags "$tags" "$@"; }
quick() { beside -short "$@"; }
report() { bin/testreport "${strict[@]}" -allow scripts/allowed-skips.txt "$@"; }

# raced FLAG... prints the packages of the module in this folder that are tested under the race
# detector: not those that start no goroutine, where it has nothing to find, nor those that look at files and at
# other programs only.
raced() {
  "$root/bin/goroutines" "$@" ./... | grep -vxE 'tagbus/internal/checks|tagbus/cmd/internal/(monitoring|pages)|tagbus/bindings(/.*)?|tagbus/cmd/libtagbus/libtest|tagbus/directory/etcd/cmd'
}

# selected prints the packages of a module, in its folder, whose tests run. Under the race detector the rules
# of memory are tested in any case.
selected() {
  case " ${args[*]} " in
  *" -race "*)
    raced -tags "$own"
    go list ./... | grep -x tagbus/internal/invariants || true
    ;;
  *)
    if [ "${RACED:-}" = apart ]; then
      go list ./... | grep -vxFf <(raced -alike -tags invariants)
    else
      go list ./...
    fi
    ;;
  esac
}

readonly scripts=tagbus/cmd/internal/scripts
# some PACKAGE... fails where there is none: go test would take that for the package of the folder.
some() {
  [ $# -gt 0 ] || { echo "test.sh: no package was found" >&2; return 1; }
}

# each HOW PACKAGE... has HOW test the packages: of the end-to-end tests those that start each
# program once.
each() {
  local how=$1 failed=0 others
  shift
  mapfile -t others < <(printf '%s\n' "$@" | grep -vx $scripts)
  if [ ${#others[@]} -lt $# ]; then
    "$how" -run "$(grep -v '^#' cmd/internal/scripts/testdata/each-program.list | paste -sd '|')" $scripts || failed=1
  fi
  if [ ${#others[@]} -gt 0 ]; then "$how" "${others[@]}" || failed=1; fi
  return $failed
}

# over_libfabric tests in the build that has it.
over_libfabric() {
  local failed=0
  if [ "${SCRIPTS:-}" = all ]; then
    beside "${packages[@]}" || failed=1
  else
    each beside "${packages[@]}" || failed=1
  fi
  if [ ${#short[@]} -gt 0 ]; then
    unset TAGBUS_TESTS
    each quick "${short[@]}" || failed=1
  fi
  return $failed
}

# compiled compiles what those need that run beside each other, which each of them would compile at the same time, and
# what test programs build themselves: on a busy machine that has compiled nothing yet that takes minutes of their limit.
compiled() {
  case " ${args[*]} " in
  *" -race "*) go list -export -race "${tagged[@]}" -f '' "$@" >/dev/null ;;
  *)
    go list -export "${tagged[@]}" -f '' "$@" >/dev/null || return
    OUT=$root/bin/lib GOFLAGS="${GOFLAGS:-} -buildvcs=false" scripts/lib.sh >/dev/null 2>&1 || true # the tests that need it say why
    ;;
  esac
}

# once runs all tests.
once() {
  local failed=0 beside= others_job= first
  plain() { run "${args[@]}" "$@"; }
  read -ra first <<<"${PACKAGES:-$(selected | tr '\n' ' ')}"
  some "${first[@]}" || return
  compiled "${first[@]}" || return
  # Beside the others, as these tests wait more than they work.
  if [ ${#packages[@]} -gt 0 ]; then
    (over_libfabric) >"$work/beside" &
    beside=$!
  fi
  # As these do.
  if [ -z "${PACKAGES:-}" ]; then
    (
      failed=0
      other directory/etcd || failed=1
      # The server of its tests is built here, or the first of them would wait for it.
      scripts/pinned.sh bench github.com/nats-io/nats-server/v2 >/dev/null || failed=1
      other bridge || failed=1
      exit $failed
    ) >"$work/others" &
    others_job=$!
  fi
  if [ "${SCRIPTS:-}" = each ]; then each plain "${first[@]}"; else plain "${first[@]}"; fi || failed=1
  if [ -n "$beside" ]; then
    wait "$beside" || failed=1
    cat "$work/beside"
  fi
  if [ -n "$others_job" ]; then
    wait "$others_job" || failed=1
    cat "$work/others"
  fi
  return $failed
}

# again runs the tests that testreport has named, in each build that has their package.
again() {
  local failed=0 package pattern
  while IFS=$'\t' read -r package pattern; do
    case $package in
    tagbus/directory/etcd | tagbus/directory/etcd/*) other directory/etcd "${args[@]}" -count=1 -run "$pattern" "$package" || failed=1 ;;
    tagbus/bridge/*) other bridge "${args[@]}" -count=1 -run "$pattern" "$package" || failed=1 ;;
    *) run "${args[@]}" -count=1 -run "$pattern" "$package" || failed=1 ;;
    esac
    if [[ " ${packages[*]} " == *" $package "* ]]; then
      beside -count=1 -run "$pattern" "$package" || failed=1
    fi
    if [[ " ${short[*]} " == *" $package "* ]]; then
      (unset TAGBUS_TESTS && quick -count=1 -run "$pattern" "$package") || failed=1
    fi
  done <"$work/again"
  return $failed
}

if once | report -again "$work/again"; then
  exit
fi
if [ "${AGAIN:-}" = no ] || ! [ -s "$work/again" ]; then
  exit 1
fi
printf '\nFailed, and run once more alone:\n'
cat "$work/again"
again | report || exit 1
sed 's/^/FLAKY: it failed, and passed alone: /' "$work/again"
