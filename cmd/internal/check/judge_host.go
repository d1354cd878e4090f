// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"tagbus/cmd/internal/overview"
	"tagbus/node"
)

const (
	spareFiles  = 64       // descriptors of a program beside its connections
	fastBuffer  = 4 << 20  // bytes under way at 10 Gbit/s and 3 ms
	rdmaMemory  = 64 << 20 // what a small program registers with a device
	slowControl = "bbr"    // docs/runbook.md, "Sizing and tuning"
)

// judgeHost says which settings of this host are too small for the bus.
func judgeHost(s *seen) []Finding {
	f := &findings{group: "host"}
	h := &s.host
	living := len(s.living())
	need := int64(2*living + spareFiles)
	if h.openFiles >= 0 && h.openFiles < need {
		f.add(Warning, "open-files", "ulimit -n", "raise it: LimitNOFILE= of the service, or ulimit -n",
			"it is %d, and a program that connects to each of %s takes up to %d", h.openFiles, count(living, "entry", "entries"), need)
	}
	if s.uses("rdma") && h.lockedMemory >= 0 && h.lockedMemory < rdmaMemory {
		f.add(Warning, "locked-memory", "ulimit -l", "raise it: LimitMEMLOCK= of the service, or ulimit -l",
			"it is %d KiB, and memory of a program is registered with its device, which locks it: pool, and 20 times the largest message for each publisher", h.lockedMemory>>10)
	}
	for _, b := range []struct {
		about string
		bytes int64
	}{{"net.ipv4.tcp_rmem", h.receive}, {"net.ipv4.tcp_wmem", h.send}} {
		if b.bytes >= 0 && b.bytes < fastBuffer {
			f.add(Note, "socket-buffers", b.about, "sysctl -w with a third number of 4194304 or more, on both hosts",
				"a connection has buffers of %d KiB at most, which limits its rate where the way is long or fast", b.bytes>>10)
		}
	}
	if h.backlog >= 0 && h.backlog < int64(living) { // the gone do not start
		f.add(Note, "accept-queue", "net.core.somaxconn", fmt.Sprintf("sysctl -w net.core.somaxconn=%d, and start the programs again", queueFor(living)),
			"it is %d, and when %d programs start at once, some connect a second later", h.backlog, living)
	}
	if h.congestion == slowControl && s.uses("tcp") {
		f.add(Note, "congestion-control", "net.ipv4.tcp_congestion_control", "measure cubic on this network: tcp.Config.CongestionControl, or the sysctl",
			"it is %s, which paces what is sent: on some networks another one carries more; within a host the bus does not use it", h.congestion)
	}
	f.ok("this host", "its limits suffice for %s", count(living, "entry", "entries"))
	return f.sorted()
}

// queueFor returns a length of the queue of connections that suffices for so many programs: a
// power of two, 4096 at least, which is the default of Linux.
func queueFor(programs int) int { return max(4096, 1<<bits.Len(uint(programs-1))) }

// uses reports whether programs of this host use a kind of transport.
func (s *seen) uses(kind string) bool {
	names := strings.Split(s.us.backend, ",")
	if s.us.backend == node.Auto { // what programs have chosen they announce
		names = []string{"tcp"}
		for _, e := range s.living() {
			if !s.us.elsewhere(&e.Entry) {
				names = append(names, strings.Split(overview.Backends(&e.Entry), ",")...)
			}
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, kind) })
}
