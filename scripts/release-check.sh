#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a release and tries it as users get it, unless that has passed with the same bytes: the debs in a Debian that has nothing else
# (mmdebstrap), their services under the systemd of that, the packages of the C library and of Python in another one that has
# compilers, the rpms, the archives, and the programs in containers.
#   scripts/release-check.sh
#   SUITE=bookworm   which Debian
# What needs root or a tool that is missing is skipped and named; with CI=true that fails.
set -euo pipefail
shopt -s extglob
cd "$(dirname "$0")/.."
export VERSION=${VERSION:-v0.0.0-check}
# What is unpacked again is the same at each level.
export LEVEL=1
tmp=$(mktemp -d)
# mmdebstrap mounts what it lets go when it ends.
trap 'wait; rm -rf --one-file-system "$tmp"' EXIT

fail() {
  echo "release-check: $1" >&2
  exit 1
}

# part TITLE says what is tried, and what all before has taken.
part() { printf '\n== %s (%d s so far, %d s of processor)\n' "$1" "$SECONDS" "$(processor)"; }
processor() { awk -v ticks="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($14 + $15) / ticks) }' "/proc/$$/stat"; } # of what has ended

# can TITLE TOOL reports whether a part can be tried.
tried=all
can() {
  part "$1"
  if [ "$(id -u)" -eq 0 ] && command -v "$2" >/dev/null; then return; fi
  echo "SKIPPED: $1: needs root and $2 (scripts/setup.sh release installs it)"
  tried=some
  [ "${CI:-}" != true ] || exit 1
  return 1
}

# says_version COMMAND... fails unless a program, the last word, says which release it is.
says_version() {
  local got
  got=$("$@" --version)
  local name=${!###*/}
  [[ $got == "${name%-etcd} $VERSION"?(" ("*")") ]] || fail "$* --version: got $got, want $VERSION"
  echo "  $got"
}

archive() {
  part "The archive"
  local other arch name programs
  for arch in amd64 arm64 arm7; do
    name=tagbus_${VERSION#v}_linux_$arch
    tar -C "$tmp" -xzf "dist/$name.tar.gz"
    programs=(publisher subscriber tagbus)
    if [ $arch != arm7 ]; then
      tar -C "$tmp/$name" --strip-components=1 -xzf "dist/tagbus-etcd_${VERSION#v}_linux_$arch.tar.gz"
      tar -C "$tmp/$name" --strip-components=1 -xzf "dist/tagbus-bridge_${VERSION#v}_linux_$arch.tar.gz"
      programs+=(publisher-etcd subscriber-etcd tagbus-etcd tagbus-directory tagbus-bridge)
    fi
    for other in "${programs[@]}"; do
      if grep -qa '/ld-linux' "$tmp/$name/$other"; then
        fail "$other for $arch is not static: it names a dynamic loader"
      fi
    done
  done
  name=tagbus_${VERSION#v}_linux_amd64
  [ -e "$tmp/$name/docs/site/index.html" ] || fail "the archive lacks the site of the documents"
  says_version "$tmp/$name/publisher"
  says_version "$tmp/$name/tagbus"
  says_version "$tmp/$name/tagbus-etcd"
  says_version "$tmp/$name/tagbus-directory"
  says_version "$tmp/$name/tagbus-bridge"
  "$tmp/$name/demo.sh" "$tmp/$name"
  "$tmp/$name/demo-etcd.sh" "$tmp/$name"
  # Of one processor: packing takes most of the time, and is the same for each. What the same compilers make twice
  # from the same recipe is the same, whatever the programs do: then it is not made again.
  { go version; cc --version; } >"$tmp/compilers"
  local recipe=("$tmp/compilers" go.mod directory/etcd/go.mod bridge/go.mod bindings/c bindings/cpp deploy scripts tools/{licences,release,wheel,go.mod}
    tools/docs/{package-lock.json,.vitepress/config.mjs,.vitepress/theme})
  if scripts/passed.sh is release-twice "${recipe[@]}"; then return; fi
  KEPT=no DIST="$tmp/again" ARCHS=amd64 scripts/release.sh >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the second release failed"; }
  [ "$(wc -l <"$tmp/again/SHA256SUMS")" -eq 18 ] || fail "the second release has other files: $(cat "$tmp/again/SHA256SUMS")"
  other=$(grep -vxFf dist/SHA256SUMS "$tmp/again/SHA256SUMS") && fail "the second release differs: $other"
  scripts/passed.sh note release-twice "${recipe[@]}"
  rm -rf "$tmp/again"
  echo "  made again, it has the same bytes"
}

# inside COMMAND... runs a command in the clean Debian. What is mounted there goes with
# the namespace.
inside() { unshare --mount --pid --fork --mount-proc="${root:-$tmp/root}/proc" chroot "$@"; }

deb() {
  local left
  wait "$debian" || { tail -n 5 "$tmp/debian"; fail "mmdebstrap failed"; }
  cp dist/tagbus_*_amd64.deb "$tmp/root/tmp/tagbus.deb"
  cp dist/tagbus-etcd_*_amd64.deb "$tmp/root/tmp/tagbus-etcd.deb"
  cp dist/tagbus-bridge_*_amd64.deb "$tmp/root/tmp/tagbus-bridge.deb"
  if inside "$tmp/root" dpkg -i /tmp/tagbus-etcd.deb >/dev/null 2>&1; then fail "tagbus-etcd is installed without tagbus"; fi
  inside "$tmp/root" dpkg --purge tagbus-etcd
  inside "$tmp/root" dpkg -i /tmp/tagbus.deb /tmp/tagbus-etcd.deb /tmp/tagbus-bridge.deb
  inside "$tmp/root" dpkg --verify tagbus tagbus-etcd tagbus-bridge
  says_version inside "$tmp/root" publisher
  says_version inside "$tmp/root" tagbus
  says_version inside "$tmp/root" tagbus-directory
  says_version inside "$tmp/root" tagbus-bridge
  # shellcheck disable=SC2016 # the shell inside expands it
  inside "$tmp/root" sh -ec 'for what in publisher subscriber; do
    cp /usr/share/doc/tagbus/examples/$what-demo.env /etc/tagbus/
    systemd-analyze verify --recursive-errors=no tagbus-$what@demo.service
    man -w $what
  done
  man -w tagbus
  man -w tagbus-etcd
  for what in out in; do
    cp /usr/share/doc/tagbus-bridge/examples/bridge-$what-demo.env /etc/tagbus/
    systemd-analyze verify --recursive-errors=no tagbus-bridge-$what@demo.service
  done
  man -w tagbus-bridge
  bash -n /usr/share/bash-completion/completions/tagbus-bridge
  systemd-analyze verify --recursive-errors=no tagbus-directory.service
  tagbus completion bash | cmp - /usr/share/bash-completion/completions/tagbus'
  # The user of the services runs the demo, from what the package has installed.
  inside --userspec=tagbus:tagbus "$tmp/root" /usr/share/doc/tagbus/examples/demo.sh /usr/bin
  inside --userspec=tagbus:tagbus "$tmp/root" /usr/share/doc/tagbus-etcd/examples/demo-etcd.sh /usr/bin
  if can "The services" systemd-nspawn; then test/services/run.sh "$tmp/root"; fi
  rm "$tmp"/root/etc/tagbus/*.env "$tmp"/root/tmp/tagbus*.deb
  inside "$tmp/root" dpkg --purge tagbus-bridge tagbus-etcd tagbus
  # Pages that man has formatted, as systemd-analyze has it do, are man's.
  left=$(find "$tmp/root" \( -path "$tmp/root/var/log" -o -path "$tmp/root/var/cache/man" \) -prune -o -name '*tagbus*' -print)
  [ -z "$left" ] || fail "the package leaves behind: $left"
}

# The packages of the library and of Python, and compilers: programs are built and run from them alone.
libraries() {
  local left root=$tmp/build
  wait "$building" || { tail -n 5 "$tmp/building"; fail "mmdebstrap failed"; }
  mkdir "$root/tmp/packages"
  cp dist/*_amd64.deb dist/*_all.deb dist/*_x86_64.whl test/packages/*.sh "$root/tmp/packages/"
  # What they need is there, and nothing is missing that they do not say.
  inside "$root" sh -ec 'dpkg -i /tmp/packages/*.deb && dpkg --verify libtagbus0 libtagbus0-etcd libtagbus-dev python3-tagbus && ldconfig -p | grep tagbus'
  inside "$root" /tmp/packages/pages.sh
  inside "$root" /tmp/packages/examples.sh
  # The wheel has all but cffi: nothing of the packages is left that it could use.
  cp "$root/usr/share/doc/python3-tagbus/python.md" "$root/tmp/"
  inside "$root" dpkg --purge python3-tagbus libtagbus-dev libtagbus0-etcd libtagbus0
  left=$(find "$root/usr" "$root/etc" -name '*tagbus*' \( -path '*/lib/*' -o -path '*/include/*' \) ! -name '*.service' ! -name 'tagbus*.conf' -print)
  [ -z "$left" ] || fail "the packages of the library leave behind: $left"
  mkdir -p "$root/usr/share/doc/python3-tagbus" && mv "$root/tmp/python.md" "$root/usr/share/doc/python3-tagbus/"
  inside "$root" sh -ec '/tmp/packages/pages.sh /tmp/packages/*.whl'
}

# Of another processor: the first program of docs/c.md, from the packages, under emulation.
emulated() {
  local package lib=$tmp/arm64/usr/lib/aarch64-linux-gnu
  for package in dist/libtagbus*_arm64.deb; do dpkg-deb -x "$package" "$tmp/arm64"; done
  awk '/^```/ { on = $0 == "```c" && !n++; next } on' docs/c.md | sed "s|/tmp/bus|$tmp/bus-arm64|" >"$tmp/first.c"
  aarch64-linux-gnu-gcc "$tmp/first.c" -o "$tmp/first" -I"$tmp/arm64/usr/include" -L"$lib" -ltagbus
  local got
  got=$(timeout 120 qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_LIBRARY_PATH=$lib" "$tmp/first") || fail "the first program of docs/c.md for arm64: status $?"
  [ "$got" = "hello, detector" ] || fail "the first program of docs/c.md for arm64: got $got"
  echo "  arm64: $got"
}

rpm_package() {
  local lib=$tmp/rpm/usr/lib64 program=$tmp/first-rpm
  mkdir "$tmp/rpm"
  rpm --root "$tmp/rpm" --ignorearch --nodeps --noscripts -i dist/*.x86_64.rpm dist/*.noarch.rpm
  rpm --root "$tmp/rpm" -V --nodeps --noscripts tagbus tagbus-etcd tagbus-bridge libtagbus libtagbus-etcd libtagbus-devel python3-tagbus
  # Where the folder of the rpms stands in for a host of rpm, a program is built as there.
  awk '/^```/ { on = $0 == "```c" && !n++; next } on' docs/c.md | sed "s|/tmp/bus|$tmp/bus-c|" >"$program.c"
  # shellcheck disable=SC2046 # words
  cc "$program.c" -o "$program" $(PKG_CONFIG_SYSROOT_DIR=$tmp/rpm PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config --cflags --libs tagbus) || fail "the rpm: no program is built with it"
  [ "$(LD_LIBRARY_PATH=$lib "$program")" = "hello, detector" ] || fail "the rpm: the first program of docs/c.md does not work"
  LD_LIBRARY_PATH=$lib PYTHONPATH=$tmp/rpm/$(cat "$tmp"/rpm/usr/lib/python3.11/site-packages/tagbus.pth) /usr/bin/python3 -c '
import importlib.metadata, tagbus
with tagbus.Bus("'"$tmp"'/bus-rpm"): print("  tagbus", importlib.metadata.version("tagbus"), "of the rpm")'
  rpm --root "$tmp/rpm" -q --requires tagbus-etcd | grep -q '^tagbus = ' || fail "the rpm tagbus-etcd does not need tagbus"
  rpm --root "$tmp/rpm" -q --requires tagbus-bridge | grep -q '^tagbus = ' || fail "the rpm tagbus-bridge does not need tagbus"
  says_version "$tmp/rpm/usr/bin/tagbus-directory"
  says_version "$tmp/rpm/usr/bin/tagbus-bridge"
  says_version "$tmp/rpm/usr/bin/publisher"
  says_version "$tmp/rpm/usr/bin/tagbus"
}

container() {
  local storage=(--storage-driver vfs --root "$tmp/images" --runroot "$tmp/run") arch name
  for arch in amd64 arm64; do
    buildah "${storage[@]}" bud --isolation chroot --platform "linux/$arch" -t "tagbus:$arch" \
      -f deploy/container/Containerfile dist/linux >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the image for $arch failed"; }
    buildah "${storage[@]}" bud --isolation chroot --platform "linux/$arch" -t "tagbus-directory:$arch" \
      -f deploy/container/Containerfile.directory dist/linux >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the image of the directory for $arch failed"; }
    buildah "${storage[@]}" bud --isolation chroot --platform "linux/$arch" -t "tagbus-bridge:$arch" \
      -f deploy/container/Containerfile.bridge dist/linux >"$tmp/log" 2>&1 || { cat "$tmp/log"; fail "the image of the bridge for $arch failed"; }
  done
  name=$(buildah "${storage[@]}" from tagbus:amd64)
  local run=(timeout 300 buildah "${storage[@]}" run --isolation chroot -v "$tmp/bus:/bus" "$name" --)
  mkdir "$tmp/bus"
  chown 10001 "$tmp/bus" # the user of the image
  says_version "${run[@]}" publisher
  says_version "${run[@]}" tagbus
  "${run[@]}" subscriber --bus /bus --tags 1-16 --verify --count 100000 &
  "${run[@]}" publisher --bus /bus --tags 1-16 --emulate 40-400 --count 100000 --wait-subscribers 1
  wait -n || fail "the subscriber in the container failed"
  name=$(buildah "${storage[@]}" from tagbus-directory:amd64)
  mkdir "$tmp/data"
  chown 10001 "$tmp/data"
  says_version timeout 300 buildah "${storage[@]}" run --isolation chroot -v "$tmp/data:/data" "$name" -- tagbus-directory
  name=$(buildah "${storage[@]}" from tagbus-bridge:amd64)
  says_version timeout 300 buildah "${storage[@]}" run --isolation chroot "$name" -- tagbus-bridge
}

printf '== The release\n'
# The same whichever commit it is, so that its bytes tell whether anything has changed.
export SOURCE_DATE_EPOCH=1767225600
KEPT=yes scripts/release.sh
cp dist/SHA256SUMS "$tmp/SHA256SUMS" # without the folder, what follows changes nothing of it
depends=("$tmp/SHA256SUMS" scripts test/services test/packages test/verbs/vm.sh test/verbs/init deploy)
if scripts/passed.sh is release-check "${depends[@]}"; then exit; fi
# They take half a minute each, most of it to wait for the network, unless they are at hand.
if [ "$(id -u)" -eq 0 ] && command -v mmdebstrap >/dev/null; then
  scripts/debian.sh "$tmp/root" systemd,systemd-sysv,man-db >"$tmp/debian" 2>&1 &
  debian=$!
  scripts/debian.sh "$tmp/build" gcc,g++,libc6-dev,pkgconf,cmake,make,python3-cffi,python3-ply,python3-numpy,python3-venv >"$tmp/building" 2>&1 &
  building=$!
fi
archive
if can "The deb in a clean Debian" mmdebstrap; then deb; fi
if can "The library in a Debian with compilers" mmdebstrap; then libraries; fi
if can "The library for arm64, emulated" qemu-aarch64; then emulated; fi
if can "The rpm" rpm; then rpm_package; fi
if can "The container" buildah; then container; fi
if [ $tried = all ]; then scripts/passed.sh note release-check "${depends[@]}"; fi
printf '\nrelease-check: all that was tried works, in %d s\n' "$SECONDS"
