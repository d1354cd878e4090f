// SPDX-License-Identifier: Apache-2.0

package hostaddr

import (
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Where a process may not have a socket of netlink (RestrictAddressFamilies of systemd, a
// filter of system calls), older ways show most: one address of IPv4 for each interface,
// and all of IPv6.

func native16(b []byte) uint16 { return binary.NativeEndian.Uint16(b) }
func native32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// listWithoutNetlink returns the addresses of this host.
//
// Errors: those of the system.
func listWithoutNetlink() ([]Address, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing can be lost
	names, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return nil, err
	}
	flags := make(map[string]uint16)
	var all []Address
	for line := range strings.Lines(string(names)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue // of the head
		}
		request, err := unix.NewIfreq(name)
		if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request) != nil {
			continue // it has gone
		}
		flags[name] = request.Uint16()
		if request, err = unix.NewIfreq(name); err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFADDR, request) != nil {
			continue // it has none
		}
		bytes, err := request.Inet4Addr()
		if err != nil {
			continue
		}
		ip, _ := netip.AddrFromSlice(bytes)
		bits := ip.BitLen()
		if request, err = unix.NewIfreq(name); err == nil && unix.IoctlIfreq(fd, unix.SIOCGIFNETMASK, request) == nil {
			if mask, err := request.Inet4Addr(); err == nil {
				bits = ones(mask)
			}
		}
		all = append(all, addressOf(name, flags[name], netip.PrefixFrom(ip, bits)))
	}
	six, err := os.ReadFile("/proc/net/if_inet6")
	if err != nil {
		return all, nil // a system without IPv6
	}
	return append(all, parseInet6(string(six), flags)...), nil
}

// parseInet6 reads /proc/net/if_inet6: address, number of the interface, bits, scope and flags
// in hexadecimal, and the name.
func parseInet6(lines string, flags map[string]uint16) (all []Address) {
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) != 6 || len(fields[0]) != 32 {
			continue
		}
		var groups []string
		for i := 0; i < 32; i += 4 {
			groups = append(groups, fields[0][i:i+4])
		}
		ip, err := netip.ParseAddr(strings.Join(groups, ":"))
		bits, err2 := strconv.ParseUint(fields[2], 16, 8)
		state, err3 := strconv.ParseUint(fields[4], 16, 32)
		if err != nil || err2 != nil || err3 != nil {
			continue
		}
		a := addressOf(fields[5], flags[fields[5]], netip.PrefixFrom(ip, int(bits)))
		a.Tentative = state&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) != 0
		a.Deprecated, a.Temporary = state&unix.IFA_F_DEPRECATED != 0, state&unix.IFA_F_TEMPORARY != 0
		all = append(all, a)
	}
	return all
}

// addressOf returns an address of an interface of which only the flags are known. A bridge
// is known by its name alone.
func addressOf(name string, flags uint16, prefix netip.Prefix) Address {
	return Address{
		Prefix: prefix, Link: name, Inner: true,
		Up: flags&unix.IFF_UP != 0, Carrier: flags&unix.IFF_RUNNING != 0, PointToPoint: flags&unix.IFF_POINTOPOINT != 0,
	}
}

// ones counts the bits of a mask.
func ones(mask []byte) (n int) {
	for bit := binary.BigEndian.Uint32(mask); bit&(1<<31) != 0; bit <<= 1 {
		n++
	}
	return n
}
