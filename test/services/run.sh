#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots a folder that has Debian with systemd and the packages of tagbus, and goes through the first hour of
# docs/release.md: as a container of systemd-nspawn, which takes half a minute, and where none boots
# as a virtual machine with the kernel of test/verbs, which takes the processors ten times as long.
#   test/services/run.sh ROOT
#   SERVICES="container machine"   what is tried, in this order
# It needs root, and what scripts/setup.sh release installs.
set -euo pipefail
cd "$(dirname "$0")"
root=$1
tmp=$(mktemp -d)
readonly unit=$root/usr/lib/systemd/system/guest.service wants=$root/etc/systemd/system/multi-user.target.wants/guest.service
trap 'rm -rf "$tmp" "$root/guest.sh" "$unit" "$wants"' EXIT

# guest LINE... has the systemd in the folder run guest.sh when it has booted; the lines say where its words go.
guest() {
  cp guest.sh "$root/guest.sh"
  printf '%s\n' '[Service]' Type=oneshot 'ExecStart=/bin/bash /guest.sh' TimeoutStartSec=infinity "$@" >"$unit"
  mkdir -p "$(dirname "$wants")"
  ln -sf /usr/lib/systemd/system/guest.service "$wants"
}

# container writes what guest.sh says to $tmp/console, as machine does. In the folder nothing is changed. One that is
# silent for a minute has not booted.
container() {
  mkdir "$tmp/out"
  guest StandardOutput=append:/out/console StandardError=append:/out/console
  timeout --kill-after=10 600 systemd-nspawn --quiet --directory="$root" --volatile=overlay --bind="$tmp/out:/out" \
    --private-network --resolv-conf=off --timezone=off --register=no --keep-unit --console=pipe --boot \
    >"$tmp/manager" 2>&1 </dev/null &
  local end=$((SECONDS + 60))
  while ! [ -s "$tmp/out/console" ] && kill -0 $! 2>/dev/null; do
    [ "$SECONDS" -lt "$end" ] || { kill $! && break; }
    sleep 0.2
  done
  wait $! || echo "services: the container ended with status $?"
  if [ -s "$tmp/out/console" ]; then mv "$tmp/out/console" "$tmp/console"; else cat "$tmp/manager"; fi
}

machine() {
  local image
  image=$(../verbs/vm.sh image)
  mkdir "$tmp/files"
  (cd "$tmp/files" && zcat "$image/initramfs" | busybox cpio -id 2>/dev/null)
  cp init "$tmp/files/init"
  (cd "$tmp/files" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$tmp/initramfs"
  guest StandardOutput=tty StandardError=tty TTYPath=/dev/ttyS0
  # As in test/verbs/vm.sh, without what only RDMA needs.
  timeout --foreground 900 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max,-erms,-fsrm -smp 2 -m 2048 \
    -nodefaults -display none -no-reboot -net none -serial "file:$tmp/serial" \
    -kernel "$image/vmlinux" -initrd "$tmp/initramfs" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=1 clearcpuid=112" \
    -virtfs "local,path=$root,mount_tag=host,security_model=none,readonly=on,multidevs=remap" </dev/null ||
    echo "services: the machine was ended after 900 s"
  tr -d '\r' <"$tmp/serial" >"$tmp/console"
}

for how in ${SERVICES:-container machine}; do
  $how
  if [ -s "$tmp/console" ]; then
    tail -n 80 "$tmp/console"
    grep -q '^services: all work' "$tmp/console"
    exit
  fi
  echo "services: no $how boots here"
done
exit 1
