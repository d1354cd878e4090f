// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// enoughMemlock is what a publisher and some subscribers with their defaults
// register, of which a part may be locked.
const enoughMemlock = 256 << 20

// toInstall is what a program needs to be built with this backend.
const toInstall = "install libfabric-dev, pkg-config and a C compiler and build with CGO_ENABLED=1 and -tags libfabric"

// diagnose finds out what is missing. noDrivers: the kernel has no RDMA at all.
func (s *Survey) diagnose(root fs.FS, noDrivers bool) {
	problem := func(format string, args ...any) { s.Problems = append(s.Problems, fmt.Sprintf(format, args...)) }
	if s.Libfabric == "" {
		problem("this program was built without libfabric: only the backend tcp works: %s", toInstall)
	}
	switch {
	case noDrivers:
		problem("no RDMA driver is loaded (/%s is missing): install that of the card (mlx5_ib, irdma, bnxt_re, ...) or, for any network card, modprobe rdma_rxe", sysDevices)
	case len(s.Devices) == 0:
		problem("no RDMA device (/%s is empty): without hardware: rdma link add rxe0 type rxe netdev INTERFACE", sysDevices)
	default:
		s.diagnoseDevices(root, problem)
	}
	if s.MemlockBytes < enoughMemlock && (s.Libfabric == "" || len(s.Devices) > 0) {
		problem("this process may lock only %s of memory, and RDMA devices need all buffers locked: raise it (ulimit -l, LimitMEMLOCK= of systemd, --ulimit memlock of a container)", bytesText(s.MemlockBytes))
	}
}

// diagnoseDevices finds out why devices cannot be used.
func (s *Survey) diagnoseDevices(root fs.FS, problem func(string, ...any)) {
	for _, d := range s.Devices {
		if d.State != stateActive {
			problem("port %s of %s is %s, want ACTIVE: look at the cable, the switch, and ip link", d.Port, d.Name, strings.ToLower(d.State))
		}
	}
	nodes, err := fs.ReadDir(root, devNodes)
	has := func(name string) bool {
		return slices.ContainsFunc(nodes, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), name) })
	}
	switch {
	case err != nil || !has("uverbs"):
		problem("/%s is missing: modprobe ib_uverbs, or give the devices to the container (--device)", path.Join(devNodes, "uverbs*"))
	case !has("rdma_cm"):
		problem("/%s is missing: modprobe rdma_ucm, or give the device to the container (--device)", path.Join(devNodes, "rdma_cm"))
	case s.Libfabric != "" && !slices.ContainsFunc(s.Fabrics, func(f Fabric) bool { return f.Usable && f.Provider == ProviderVerbs }):
		problem("libfabric's provider verbs offers none of the devices: it wants an IP address on the interface of the device, and its file in /%s to be readable and writable", devNodes)
	}
}
