#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Boots a folder that has Debian with systemd and the package tagbus as a virtual machine,
# with the kernel of test/verbs, and goes through the first hour of docs/release.md.
#   test/services/run.sh ROOT
# It needs root, and what scripts/setup.sh release installs.
set -euo pipefail
cd "$(dirname "$0")"
root=$1
image=$(../verbs/vm.sh image)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp/files"
(cd "$tmp/files" && zcat "$image/initramfs" | busybox cpio -id 2>/dev/null)
cp init "$tmp/files/init"
(cd "$tmp/files" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$tmp/initramfs"

cp guest.sh "$root/guest.sh"
cat >"$root/usr/lib/systemd/system/guest.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/bin/bash /guest.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -sf /usr/lib/systemd/system/guest.service "$root/etc/systemd/system/multi-user.target.wants/guest.service"

# As in test/verbs/vm.sh, without what only RDMA needs.
timeout --foreground 900 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max,-erms,-fsrm -smp 2 -m 2048 \
  -nodefaults -display none -no-reboot -net none -serial "file:$tmp/console" \
  -kernel "$image/vmlinux" -initrd "$tmp/initramfs" \
  -append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=1 clearcpuid=112" \
  -virtfs "local,path=$root,mount_tag=host,security_model=none,readonly=on,multidevs=remap" </dev/null ||
  echo "services: the machine was ended after 900 s"
rm -f "$root/guest.sh" "$root/usr/lib/systemd/system/guest.service" "$root/etc/systemd/system/multi-user.target.wants/guest.service"
tr -d '\r' <"$tmp/console" | tail -n 80
grep -q '^services: all work' "$tmp/console"
