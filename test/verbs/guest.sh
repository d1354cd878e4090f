#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the virtual machine as its first process, in the host's file system:
# makes the RDMA device, runs the command of vm.sh, leaves its exit status and
# ends the machine.
control=$1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/run/home LANG=C.UTF-8
# Not on the layer over the host's files, where a file is not quite what it is
# elsewhere.
export TMPDIR=/run/tmp
mkdir -p "$HOME" "$TMPDIR"
ulimit -l unlimited -n 65536

# When it starts libfabric reads all symbols of the kernel, twice: seconds here.
mount --bind /dev/null /proc/kallsyms

# Where the output goes: the port named so by vm.sh.
port=$(grep -l -x output /sys/class/virtio-ports/*/name)
port=/dev/$(basename "$(dirname "$port")")

end() {
  [ -z "${1:-}" ] || echo "$1" >"$control/status"
  sync
  echo b >/proc/sysrq-trigger # with QEMU's -no-reboot the machine is off at once
  read -rt 60 _ <>/dev/null
}

# The interface needs its address before the device is made: that has the
# address as its GID. Its packets are as large as the device can make them (4 KiB
# and their headers), as each costs the same. Nothing outside the machine is
# reached by it.
device() {
  ip link set lo up &&
    ip link add rdma0 mtu 9000 type dummy &&
    ip address add 10.99.0.1/24 dev rdma0 &&
    ip address add 10.99.0.2/24 dev rdma0 &&
    ip link set rdma0 up &&
    rdma link add rxe0 type rxe netdev rdma0 &&
    grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state
}
device >/dev/console 2>&1 || { echo "verbs: cannot make the RDMA device" >/dev/console; end; }
export NETIO_RDMA_PROV=verbs NETIO_RDMA_ADDR=10.99.0.1 NETIO_RDMA_SOFT=yes
# After 20 ms, and not 0.6, a message that found no receive is sent again: here
# each try costs more than that, and many would do nothing else.
export FI_VERBS_MIN_RNR_TIMER=22

run=(false)
# shellcheck source=/dev/null
. "$control/command.sh"
"${run[@]}" </dev/null >"$port" 2>&1
end $?
