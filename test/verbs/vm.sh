#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A virtual machine with an RDMA device, for machines that have none: Debian's
# kernel under QEMU, with Soft-RoCE (rdma_rxe) on a dummy interface.
#   test/verbs/vm.sh missing          names what is missing here; status 1 if anything is
#   test/verbs/vm.sh prepare          makes kernel and initramfs, unless they are in the cache
#   test/verbs/vm.sh image            the same, and prints where they are
#   test/verbs/vm.sh run CMD [ARG..]  boots, and runs CMD in the machine
# CMD finds the file system of this machine, in the same directory, as root. What
# it changes is thrown away, but for what it writes below VERBS_WORK. It gets the
# variables FI_*, GO*, NETIO_*, RDMAV_* and VERBS_* from here, and VERBS_DEADLINE:
# when the machine will be ended, in seconds of Unix time.
# Exit status of run: that of CMD; 124 when the time was up, 125 when CMD was not
# reached. The kernel's messages are then shown.
# Settings:
#   VERBS_CACHE    where kernel and initramfs stay (~/.cache/tagbus-verbs)
#   VERBS_WORK     directory that the machine can write (none)
#   VERBS_TIMEOUT  seconds for a run (170)
#   VERBS_MEMORY   MiB of the machine (4096), VERBS_CPUS its processors (2)
#   VERBS_ACCEL    of QEMU (kvm if it can be used, else tcg, its emulation)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# The image belongs to these scripts: changed, they make another one.
cache=${VERBS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tagbus-verbs}
image=$cache/$(cat "$here/vm.sh" "$here/init" | sha256sum | head -c 16)

# Modules of the kernel that go into the machine, with what they depend on:
# crc32_generic is looked up by rxe, by its name.
modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay
  dummy crc32_generic crc32c_generic rdma_rxe rdma_ucm ib_uverbs sch_netem)

missing() {
  local any=0
  need() {
    "${@:2}" >/dev/null 2>&1 || { any=1; echo "verbs: $1"; }
  }
  need "needs an x86-64 machine" test "$(uname -m)" = x86_64
  need "needs QEMU (Debian: qemu-system-x86)" qemu-system-x86_64 -version
  need "needs rdma (Debian: iproute2)" rdma -V
  need "needs libibverbs' driver for Soft-RoCE (Debian: ibverbs-providers)" test -e /etc/libibverbs.d/rxe.driver
  if ! [ -d "$image" ]; then
    need "needs busybox, statically linked (Debian: busybox-static)" busybox_is_static
    need "needs xz (Debian: xz-utils)" xz --version
    need "needs apt-get and dpkg-deb, to get Debian's kernel" dpkg-deb --version
    need "cannot get Debian's kernel: no package linux-image-amd64 (as root: apt-get update)" kernel_package
  fi
  return $any
}

busybox_is_static() { command -v busybox && ! ldd "$(command -v busybox)"; }

# kernel_package prints the name of the package with the newest kernel.
kernel_package() {
  local name
  name() { apt-cache depends linux-image-amd64 | awk '/Depends:/ { print $2; exit }'; }
  name=$(name)
  if [ -z "$name" ] && [ "$(id -u)" -eq 0 ]; then
    apt-get update -qq >/dev/null && name=$(name)
  fi
  [ -n "$name" ] && echo "$name"
}

prepare() {
  if [ -d "$image" ]; then
    return
  fi
  local start=$SECONDS
  mkdir -p "$cache"
  find "$cache" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + # of other versions
  work=$(mktemp -d "$cache/new.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work"/{kernel,root/{bin,sbin,proc,sys,dev,lib/modules},image}
  local package version
  package=$(kernel_package)
  version=${package#linux-image-}
  unpack_kernel "$package"
  cut_vmlinux "$work"/kernel/boot/vmlinuz-* "$work/image/vmlinux"
  copy_modules "$version"
  cp "$(command -v busybox)" "$work/root/bin/busybox"
  cp "$here/init" "$work/root/init"
  # The kernel calls it for modules that are asked for by name.
  ln -s ../bin/busybox "$work/root/sbin/modprobe"
  (cd "$work/root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$work/image/initramfs"
  # Another run may have been faster: then its image stays.
  mv -T "$work/image" "$image" 2>/dev/null || [ -d "$image" ]
  rm -rf "$work"
  trap - EXIT
  echo "verbs: made a machine of $package in $((SECONDS - start)) s: $image"
}

# unpack_kernel gets a package and takes from it the kernel and the folders that
# have our modules: the whole is 400 MB.
unpack_kernel() {
  local package=$1
  if ! (cd "$work/kernel" && apt-get download -qq -o APT::Sandbox::User=root "$package" >"$work/log" 2>&1) &&
    ! { apt-get update -qq && cd "$work/kernel" && apt-get download -qq -o APT::Sandbox::User=root "$package"; }; then
    cat "$work/log"
    echo "verbs: cannot download $package"
    exit 1
  fi
  dpkg-deb --fsys-tarfile "$work/kernel/$package"_*.deb | tar -x -C "$work/kernel" --wildcards \
    './boot/vmlinuz-*' './lib/modules/*/modules.*' '*/drivers/virtio/*' '*/drivers/char/virtio_console.ko' \
    '*/net/9p/*' '*/fs/9p/*' '*/fs/netfs/*' '*/fs/fscache/*' '*/fs/overlayfs/*' '*/fs/configfs/*' \
    '*/drivers/infiniband/core/*' '*/drivers/infiniband/sw/*' '*/drivers/net/dummy.ko' '*/net/sched/sch_netem.ko' \
    '*/net/ipv4/udp_tunnel.ko' '*/net/ipv6/ip6_udp_tunnel.ko' '*crc*'
}

# cut_vmlinux takes the kernel out of its self-extracting file: QEMU boots it as
# it is, and nothing is unpacked by emulated instructions (3 s).
cut_vmlinux() {
  local at
  while IFS=: read -r at _; do
    tail -c +$((at + 1)) "$1" | xz -dc --single-stream >"$2" 2>/dev/null || true
    if [ "$(head -c 4 "$2" | tail -c 3)" = ELF ]; then
      return
    fi
  done < <(LC_ALL=C grep -abo $'\xfd7zXZ' "$1")
  cp "$1" "$2"
}

# copy_modules puts the modules and what they depend on into the initramfs.
copy_modules() {
  local version=$1 from=$work/kernel/lib/modules/$1 to=$work/root/lib/modules/$1 name path
  mkdir -p "$to"
  cp "$from"/modules.{order,builtin} "$to"
  busybox depmod -b "$work/kernel" "$version"
  for name in "${modules[@]}"; do
    if ! grep -E "(^|/)$name\\.ko:" "$from/modules.dep"; then
      grep -qE "/$name\\.ko$" "$from/modules.builtin" || { echo "verbs: this kernel has no module $name" >&2; exit 1; }
    fi
  done | tr -d : | tr ' ' '\n' | sort -u | while read -r path; do
    mkdir -p "$to/$(dirname "$path")"
    cp "$from/$path" "$to/$path"
  done
  busybox depmod -b "$work/root" "$version"
  echo "${modules[*]}" >"$work/root/modules"
}

# accelerator prints QEMU's flags. A /dev/kvm that is neither Intel's nor AMD's
# (nested in another machine) lets a kernel hang that was not made for it.
accelerator() {
  if [ -n "${VERBS_ACCEL:-}" ]; then
    echo "-accel $VERBS_ACCEL"
  elif [ -w /dev/kvm ] && { [ -d /sys/module/kvm_intel ] || [ -d /sys/module/kvm_amd ]; }; then
    echo "-accel kvm -accel tcg,thread=multi"
  else
    echo "-accel tcg,thread=multi"
  fi
}

run() {
  local share own='' status accel
  share=${VERBS_WORK:-}
  if [ -z "$share" ]; then
    own=$(mktemp -d)
    share=$own
  fi
  share=$(cd "$share" && pwd)
  local control=$share/.machine
  mkdir -p "$control"
  rm -f "$control/status"
  cp "$here/guest.sh" "$control/"
  export VERBS_DEADLINE=$((EPOCHSECONDS + ${VERBS_TIMEOUT:-170}))
  write_command "$@" >"$control/command.sh"
  read -ra accel <<<"$(accelerator)"

  # The machine has no network but its own. Its console goes to a file, what the
  # command says through a port of its own to standard output. Without erms, fsrm
  # and 112 (rep_good) the kernel and libraries copy memory by loops of wide
  # moves, which emulation does some four times as fast as instructions that
  # repeat.
  set +e
  timeout --foreground --kill-after=5 "${VERBS_TIMEOUT:-170}" qemu-system-x86_64 \
    -machine q35 "${accel[@]}" -cpu max,-erms,-fsrm -smp "${VERBS_CPUS:-2}" -m "${VERBS_MEMORY:-4096}" \
    -nodefaults -display none -no-reboot -net none -serial "file:$control/console" \
    -kernel "$image/vmlinux" -initrd "$image/initramfs" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=1 clearcpuid=112 VERBS_CONTROL=$control" \
    -device virtio-serial -chardev file,id=output,path=/dev/stdout,append=on \
    -device virtserialport,chardev=output,name=output \
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$share,mount_tag=work,security_model=none,multidevs=remap" </dev/null | cat
  status=${PIPESTATUS[0]}
  set -e
  if [ -s "$control/status" ]; then
    status=$(cat "$control/status")
  else
    if [ "$status" -eq 124 ]; then
      echo "verbs: the machine was ended after ${VERBS_TIMEOUT:-170} s; the last words of its kernel:"
    else
      echo "verbs: the machine ended with the command not run to its end (QEMU: status $status); the last words of its kernel:"
      status=125
    fi
    tail -n 30 "$control/console" 2>/dev/null || true
  fi
  if [ -n "$own" ]; then rm -rf "$own"; fi
  return "$status"
}

# write_command prints a script that does here what it would do outside.
write_command() {
  local name
  for name in $(compgen -e | grep -E '^(FI|GO|NETIO|RDMAV|VERBS)_?' || true); do
    printf 'export %s=%q\n' "$name" "${!name}"
  done
  printf 'share=%q\n' "$share"
  printf 'cd %q || exit 125\n' "$PWD"
  printf 'run=('
  printf '%q ' "$@"
  printf ')\n'
}

case ${1:-} in
  missing) missing ;;
  prepare) prepare ;;
  image)
    prepare >&2
    echo "$image"
    ;;
  run)
    shift
    prepare
    run "$@"
    ;;
  *)
    sed -n '2,/^set /{s/^# \{0,1\}//;/^set /!p}' "$0"
    exit 2
    ;;
esac
