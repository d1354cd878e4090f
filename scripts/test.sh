#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the module, with the RDMA backend over tcp too if libfabric
# is there, and names every test that was skipped.
#   scripts/test.sh [flags of go test]
#   PACKAGES="..."   of which packages of the root module; default: all, of directory/etcd too
# With CI=true a skip fails the run unless scripts/allowed-skips.txt lists its
# reason: on the machine that decides, nothing may be left untested unseen.
# Up to three tests that failed run once more, alone, unless it was a data race, a
# panic or a leak. One that passes then is named as FLAKY and fails nothing: it has a bug,
# or the product has, and a change that has nothing to do with it goes in. AGAIN=no runs
# none again.
set -euo pipefail
cd "$(dirname "$0")/.."

strict=()
if [ "${CI:-}" = true ]; then
  strict=(-strict)
fi
go -C tools build -o ../bin/testreport ./testreport
go -C tools test ./...

libfabric=no
if pkg-config --exists libfabric 2>/dev/null && command -v "$(go env CC)" >/dev/null 2>&1; then
  libfabric=yes
else
  echo "SKIPPED: the RDMA backend needs libfabric and a C compiler (Debian: libfabric-dev pkg-config gcc libc6-dev)"
fi

# Of several -tags the last one counts.
tags=libfabric
for ((i = 1; i < $#; i++)); do
  if [ "${!i}" = -tags ]; then
    next=$((i + 1))
    tags=libfabric,${!next}
  fi
done

# The order is random, so that no test can lean on another; a failure prints
# the seed (-shuffle=SEED repeats it). The time limit is for a machine that does
# other things too: netio/memnet and netio/tcp take a minute of processor time
# each under the race detector.
run() { go test -json -shuffle=on -timeout 10m "$@"; }
# The directory on etcd is a module of its own, so that users of this one need none of it.
# Its tests do the usual here: make members has the rest, which waits for minutes.
etcd() { env -u TAGBUS_TESTS go -C directory/etcd test -json -shuffle=on -timeout 10m "$@"; }
packages=()
if [ $libfabric = yes ]; then
  # Once plain, and once in the build that checks most: the backend alone, as
  # what is above it does not know which backend it has.
  case " $* " in
  *" -tags "*) mapfile -t packages < <(scripts/libfabric-packages.sh | grep /netio/) ;;
  *" -race "*) ;;
  *) mapfile -t packages < <(scripts/libfabric-packages.sh) ;;
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
trap 'rm -rf "$work"' EXIT
args=("$@")
beside() { CGO_ENABLED=1 run "${args[@]}" -tags "$tags" "$@"; }
report() { bin/testreport "${strict[@]}" -allow scripts/allowed-skips.txt "$@"; }

# once runs all tests.
once() {
  local failed=0 beside= etcd=
  # Beside the others, as these tests wait more than they work.
  if [ ${#packages[@]} -gt 0 ]; then
    beside "${packages[@]}" >"$work/beside" &
    beside=$!
  fi
  # As these do.
  if [ -z "${PACKAGES:-}" ]; then
    etcd "${args[@]}" ./... >"$work/etcd" &
    etcd=$!
  fi
  read -ra first <<<"${PACKAGES:-./...}"
  run "${args[@]}" "${first[@]}" || failed=1
  if [ -n "$beside" ]; then
    wait "$beside" || failed=1
    cat "$work/beside"
  fi
  if [ -n "$etcd" ]; then
    wait "$etcd" || failed=1
    cat "$work/etcd"
  fi
  return $failed
}

# again runs the tests that testreport has named, in each build that has their package.
again() {
  local failed=0 package pattern
  while IFS=$'\t' read -r package pattern; do
    case $package in
    tagbus/directory/etcd | tagbus/directory/etcd/*) etcd "${args[@]}" -count=1 -run "$pattern" "$package" || failed=1 ;;
    *) run "${args[@]}" -count=1 -run "$pattern" "$package" || failed=1 ;;
    esac
    if [[ " ${packages[*]} " == *" $package "* ]]; then
      beside -count=1 -run "$pattern" "$package" || failed=1
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
