// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"cmp"
	"io/fs"
	"math"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Fabric is something that libfabric can send through: a domain (a port of a
// network card, an interface) with one provider.
type Fabric struct {
	Provider  string       // "verbs", "tcp;ofi_rxm"
	Domain    string       // "mlx5_0", "eth0"
	Kinds     []string     // of endpoints: "FI_EP_DGRAM", "FI_EP_MSG" (connected), "FI_EP_RDM" (without connections)
	Addresses []netip.Addr // at which it can be reached, as far as they are of the internet

	BitsPerSecond   uint64 // of the link; 0: not known
	Down            bool   // the link is
	MaxMessageBytes uint64 // that the device takes at once
	SharedReceive   bool   // connections can share receive buffers

	// Usable reports whether a Config of this package can name the provider.
	Usable bool
}

// Device is an RDMA device of the kernel's.
type Device struct {
	Name string // "mlx5_0"
	Port string // "1"
	// State and Rate are the kernel's words: "ACTIVE", "100 Gb/sec (4X EDR)".
	State, Rate string
}

// Unlimited is a Survey.MemlockBytes without limit.
const Unlimited = math.MaxUint64

// Survey is what this host and this program have for the backend.
type Survey struct {
	Libfabric    string   // its version; "": not built in
	Fabrics      []Fabric // by provider and domain, those that are usable first
	Devices      []Device // that the kernel knows
	MemlockBytes uint64   // that the process may lock: RLIMIT_MEMLOCK
	Problems     []string // what is missing, each with what to do
}

// Fabrics looks at this host. It sends nothing.
//
// Errors: *fi.Error of libfabric, with a Survey of what was found otherwise.
// Threads: any. Blocks: for some 100 ms the first time, when libfabric looks for
// devices.
func Fabrics() (Survey, error) {
	version, offers, err := offered()
	root := os.DirFS("/")
	s := Survey{Libfabric: version, Fabrics: merge(offers), MemlockBytes: memlock(root)}
	s.survey(root)
	return s, err
}

// memlock returns how much memory this process may lock.
func memlock(root fs.FS) uint64 {
	if mayLockAll(root) {
		return Unlimited
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit) != nil {
		return 0 // it cannot fail
	}
	return limit.Cur // RLIM_INFINITY is Unlimited
}

// merge joins offers that differ in their kind or address only, and sorts them.
func merge(offers []Fabric) (all []Fabric) {
	for _, o := range offers {
		i := slices.IndexFunc(all, func(f Fabric) bool { return f.Provider == o.Provider && f.Domain == o.Domain })
		if i < 0 {
			all = append(all, o)
			continue
		}
		f := &all[i]
		f.Kinds = union(f.Kinds, o.Kinds)
		f.Addresses = union(f.Addresses, o.Addresses)
		f.BitsPerSecond = max(f.BitsPerSecond, o.BitsPerSecond)
		f.Down = f.Down && o.Down
		f.SharedReceive = f.SharedReceive || o.SharedReceive
		f.Usable = f.Usable || o.Usable
		if f.MaxMessageBytes == 0 || o.Usable {
			f.MaxMessageBytes = o.MaxMessageBytes
		}
	}
	for i := range all {
		slices.Sort(all[i].Kinds) // the order of the offers is the providers' own
	}
	slices.SortStableFunc(all, func(a, b Fabric) int {
		switch {
		case a.Usable != b.Usable && a.Usable:
			return -1
		case a.Usable != b.Usable:
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a.Provider), rank(b.Provider)), cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.Domain, b.Domain))
	})
	return all
}

// rank puts devices before sockets.
func rank(provider string) int {
	if provider == ProviderVerbs {
		return 0
	}
	return 1
}

func union[T comparable](a, b []T) []T {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a, v)
		}
	}
	return a
}

// Where the kernel lists devices, below the root.
const (
	sysDevices = "sys/class/infiniband"
	devNodes   = "dev/infiniband"
	sysNet     = "sys/class/net"
	ownStatus  = "proc/self/status"

	stateActive = "ACTIVE" // of a port
)

// survey adds what the kernel says: root is the file system.
func (s *Survey) survey(root fs.FS) {
	for i := range s.Fabrics {
		if f := &s.Fabrics[i]; f.BitsPerSecond == 0 {
			f.BitsPerSecond = interfaceSpeed(root, f.Domain)
		}
	}
	entries, err := fs.ReadDir(root, sysDevices)
	for _, e := range entries {
		s.Devices = append(s.Devices, portsOf(root, e.Name())...)
	}
	s.diagnose(root, err != nil)
}

// interfaceSpeed returns that of a network interface, 0 if the kernel does not
// know.
func interfaceSpeed(root fs.FS, name string) uint64 {
	megabits, err := strconv.ParseInt(line(root, path.Join(sysNet, name, "speed")), 10, 64)
	if err != nil || megabits <= 0 {
		return 0
	}
	return uint64(megabits) * 1e6
}

// portsOf returns the ports of a device.
func portsOf(root fs.FS, device string) (all []Device) {
	at := path.Join(sysDevices, device, "ports")
	ports, _ := fs.ReadDir(root, at) // none, if it has gone meanwhile
	for _, p := range ports {
		_, state, _ := strings.Cut(line(root, path.Join(at, p.Name(), "state")), ": ")
		all = append(all, Device{
			Name: device, Port: p.Name(), State: state, Rate: line(root, path.Join(at, p.Name(), "rate")),
		})
	}
	return all
}

// mayLockAll reports whether the limit does not hold for this process, because it
// has the capability CAP_IPC_LOCK.
func mayLockAll(root fs.FS) bool {
	status, _ := fs.ReadFile(root, ownStatus) // nothing, if it cannot be read
	for text := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(text, "CapEff:"); ok {
			effective, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return err == nil && effective&(1<<unix.CAP_IPC_LOCK) != 0
		}
	}
	return false
}

// line returns the first line of a file; "" if it cannot be read.
func line(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}
