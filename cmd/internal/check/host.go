// SPDX-License-Identifier: Apache-2.0

package check

import (
	"io/fs"
	"math"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// unlimited stands for a limit that is none.
const unlimited = math.MaxInt64

// lookAtHost reads settings of the system.
//
//   - root: of the file system; os.DirFS("/").
func lookAtHost(root fs.FS) hostSeen {
	return hostSeen{
		openFiles:    limitOf(root, "self", "Max open files"),
		lockedMemory: limitOf(root, "self", "Max locked memory"),
		receive:      number(root, "proc/sys/net/ipv4/tcp_rmem"),
		send:         number(root, "proc/sys/net/ipv4/tcp_wmem"),
		backlog:      number(root, "proc/sys/net/core/somaxconn"),
		congestion:   text(root, "proc/sys/net/ipv4/tcp_congestion_control"),
	}
}

// limitOf returns the soft limit of a process that has the name; -1: unknown.
func limitOf(root fs.FS, process, name string) int64 {
	for line := range strings.Lines(text(root, "proc/"+process+"/limits")) {
		rest, ok := strings.CutPrefix(line, name)
		fields := strings.Fields(rest)
		if !ok || len(fields) == 0 {
			continue
		}
		if fields[0] == "unlimited" {
			return unlimited
		}
		return parse(fields[0])
	}
	return -1
}

// number returns the last number of a file; -1: there is none.
func number(root fs.FS, path string) int64 {
	fields := strings.Fields(text(root, path))
	if len(fields) == 0 {
		return -1
	}
	return parse(fields[len(fields)-1])
}

func parse(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func text(root fs.FS, path string) string {
	data, err := fs.ReadFile(root, path)
	if err != nil {
		return "" // a system without it
	}
	return strings.TrimSpace(string(data))
}

// ownAddresses returns those of the interfaces of this host.
func ownAddresses() map[netip.Addr]bool {
	own := make(map[netip.Addr]bool)
	all, _ := net.InterfaceAddrs() // none known: all addresses count as those of others
	for _, a := range all {
		if network, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(network.IP); ok {
				own[ip.Unmap()] = true
			}
		}
	}
	return own
}
