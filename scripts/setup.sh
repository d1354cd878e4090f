#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that the tests can use and this machine lacks, and
# unpacks one.
# It never fails: without root or a reachable registry it says what is missing,
# and the tests that need it skip and are counted.
#   scripts/setup.sh [verbs|release|browser|docs|elsewhere]...
#     verbs: also what test/verbs needs (QEMU)
#     elsewhere: also what scripts/elsewhere.sh needs (QEMU)
#     browser: also what test/web needs (Chromium, Node.js); npm ci is in test/web/run.sh
#     docs: also what scripts/docs.sh needs (Node.js); npm ci is in there
#     release: also what scripts/release-check.sh needs (a Debian, a virtual machine, rpm, a container), and that of docs
set -uo pipefail

# for_any WORD... reports whether this was called with one of the words.
asked=" $* "
for_any() {
  local word
  for word in "$@"; do
    [[ $asked == *" $word "* ]] && return
  done
  return 1
}

# A static busybox is the only program of the virtual machine's first seconds.
busybox_is_static() { command -v busybox && ! ldd "$(command -v busybox)"; }

# Debian's Python has these modules.
python_has() {
  local module
  for module in "$@"; do /usr/bin/python3 -c "import $module" || return; done
}

# A command that works where the packages are installed, the packages, and who
# needs them.
wanted=(
  "gcc -E -include stdlib.h -xc /dev/null|gcc libc6-dev|the race detector, which needs cgo (make race), and the C library (make lib)"
  "g++ -E -include string -xc++ /dev/null|g++|the tests of the headers for C++"
  "valgrind --version|valgrind|the tests of programs in C under valgrind"
  "musl-gcc --version|musl-tools|the test of what the C library says on musl"
  "cmake --version|cmake|the test of the CMake config of the C library"
  "pkg-config --atleast-version=1.11 libfabric|libfabric-dev pkg-config|the RDMA backend (-tags libfabric)"
  "pkg-config --exists libzmq|libzmq3-dev pkg-config|bench/, to compare with libzmq"
  "python_has zmq|python3 python3-zmq|bench/, to compare with pyzmq"
  "ip -V|iproute2|the tests in network namespaces"
  "nft --version|nftables|the test of a network that drops large packets"
  "strace --version|strace|the tests of members with slow disks"
  "gcc -E -include nng/nng.h -xc /dev/null|libnng-dev|bench/, to compare with nng"
  "gcc -E -I/usr/include/iceoryx/v2.0.3 -include iceoryx_binding_c/publisher.h -xc /dev/null|iceoryx libiceoryx-binding-c-dev|bench/, to compare with iceoryx"
  "command -v mandoc|mandoc|the tests of the man pages"
  "zsh --version|zsh|the tests of the completion of zsh"
  "fish --version|fish|the tests of the completion of fish"
  "systemd-analyze --version|systemd|the tests of the systemd units"
  "openssl version|openssl|the test that openssl takes the certificates of tagbus cert"
  "python_has cffi numpy pytest|python3 python3-cffi python3-numpy python3-pytest|the tests of the Python package"
  "tshark --version|tshark|the test that Wireshark reads the captures of tagbus rec convert"
  "mypy --version|mypy|the test of the types of the Python package, with TAGBUS_TESTS=all"
)
if for_any verbs release; then
  wanted+=(
    "qemu-system-x86_64 -version|qemu-system-x86|the virtual machines of make verbs and make release-check"
    "busybox_is_static|busybox-static|the virtual machines of make verbs and make release-check"
    "xz --version|xz-utils|the virtual machines of make verbs and make release-check, to unpack their kernel"
  )
fi
if for_any verbs; then
  wanted+=(
    "rdma -V|iproute2|the virtual machine of make verbs, to make its RDMA device"
    "test -e /etc/libibverbs.d/rxe.driver|ibverbs-providers|the virtual machine of make verbs, to use its RDMA device"
  )
fi
if for_any browser; then
  wanted+=(
    "chromium-headless-shell --version|chromium-headless-shell|make web, as the browser that shows the page"
    "node --version|nodejs|make web, to drive the browser"
    "npm --version|npm|make web, to fetch what drives the browser"
  )
fi
if for_any docs release; then
  wanted+=(
    "node --version|nodejs|make docs and make release, to make the site of the documents"
    "npm --version|npm|make docs and make release, to fetch what makes the site"
  )
fi
if for_any elsewhere; then
  wanted+=("qemu-arm --version|qemu-user|the tests of a 32-bit build (make elsewhere)")
fi
if for_any release; then
  wanted+=(
    "aarch64-linux-gnu-gcc -E -include stdlib.h -xc /dev/null|gcc-aarch64-linux-gnu libc6-dev-arm64-cross|make release, to make the C library for arm64"
    "qemu-aarch64 --version|qemu-user|make release-check, to run programs for arm64"
    "mmdebstrap --version|mmdebstrap|make release-check, to install the deb in a clean Debian"
    "systemd-nspawn --version|systemd-container|make release-check, to run the services"
    "rpm --version|rpm|make release-check, to install the rpm"
    "buildah --version|buildah|make release-check, to make a container"
  )
fi

# promtool and prometheus check what is in deploy/. Installed, the package would start a
# service, so its files are only unpacked, in a folder of the user's own. That needs no
# root.
prometheus="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tagbus/prometheus"

fetch_prometheus() {
  local folder=$1
  (cd "$folder" && apt-get download -qq prometheus) &&
    dpkg -x "$folder"/prometheus_*.deb "$folder/root" &&
    mkdir -p "$(dirname "$prometheus")" && rm -rf "$prometheus" && mv "$folder/root" "$prometheus"
}

if ! command -v promtool >/dev/null && ! "$prometheus/usr/bin/promtool" --version >/dev/null 2>&1; then
  echo "setup: prometheus: missing; needed by the tests of deploy/"
  folder=$(mktemp -d)
  # The list of packages may be missing or stale.
  if command -v apt-get >/dev/null && { fetch_prometheus "$folder" || { apt-get update -qq && fetch_prometheus "$folder"; }; } >"$folder/log" 2>&1; then
    echo "setup: unpacked prometheus in $prometheus"
  else
    tail -n 5 "$folder/log" 2>/dev/null
    echo "setup: could not fetch prometheus; going on without"
  fi
  rm -rf "$folder"
fi

packages=()
for row in "${wanted[@]}"; do
  IFS='|' read -r probe debian why <<<"$row"
  read -ra probe <<<"$probe"
  if ! "${probe[@]}" >/dev/null 2>&1; then
    echo "setup: $debian: missing or incomplete; needed by $why"
    read -ra names <<<"$debian"
    packages+=("${names[@]}")
  fi
done

if [ ${#packages[@]} -eq 0 ]; then
  echo "setup: nothing to install"
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: only root on Debian can install them here; as root: apt-get install ${packages[*]}"
  exit 0
fi

# A machine that loses its power meanwhile is set up again: nothing waits for its disk.
install() {
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o DPkg::Lock::Timeout=600 -o DPkg::Options::=--force-unsafe-io "${packages[@]}" </dev/null
}
echo "setup: installing ${packages[*]}"
log=$(mktemp)
# The list of packages may be missing or stale: fetch it only when needed.
if install >"$log" 2>&1 || { apt-get update -qq && install; } >"$log" 2>&1; then
  echo "setup: installed ${packages[*]}"
else
  tail -n 5 "$log"
  echo "setup: could not install ${packages[*]}; going on without"
fi
rm -f "$log"
