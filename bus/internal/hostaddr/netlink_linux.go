// SPDX-License-Identifier: Apache-2.0

package hostaddr

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// list returns the addresses of this host, whatever the kernel lets this process ask.
//
// Errors: those of the system.
func list() ([]Address, error) {
	links, err := links()
	if err == nil {
		var all []Address
		if all, err = addresses(links); err == nil {
			return all, nil
		}
	}
	if all, fault := listWithoutNetlink(); fault == nil {
		return all, nil
	}
	return nil, fmt.Errorf("list the addresses of this host: %w", err)
}

// link is an interface.
type link struct {
	name   string
	flags  uint32
	kind   string // of a device that is made by software: bridge, veth, tun, ...
	master int    // the bridge whose port it is; 0: none
	inner  bool
}

// inside are the kinds of ports that lead to containers and virtual machines of this host.
var inside = map[string]bool{"veth": true, "tun": true, "dummy": true}

// links returns the interfaces by their numbers.
func links() (map[int]link, error) {
	messages, err := dump(unix.RTM_GETLINK)
	if err != nil {
		return nil, err
	}
	result := make(map[int]link)
	for _, m := range messages {
		if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return nil, err
		}
		l := link{flags: native32(m.Data[8:])}
		for _, a := range attributes {
			switch a.Attr.Type {
			case unix.IFLA_IFNAME:
				l.name = text(a.Value)
			case unix.IFLA_MASTER:
				if len(a.Value) >= 4 {
					l.master = int(native32(a.Value))
				}
			case unix.IFLA_LINKINFO:
				l.kind = kindOf(a.Value)
			}
		}
		result[int(int32(native32(m.Data[4:])))] = l
	}
	outside := make(map[int]bool) // bridges
	for _, l := range result {
		if l.master != 0 && !inside[l.kind] {
			outside[l.master] = true
		}
	}
	for index, l := range result {
		l.inner = l.kind == "bridge" && !outside[index]
		result[index] = l
	}
	return result, nil
}

// kindOf finds the name of the kind in what IFLA_LINKINFO holds.
func kindOf(nested []byte) string {
	for len(nested) >= unix.SizeofRtAttr {
		size, kind := int(native16(nested)), native16(nested[2:])
		if size < unix.SizeofRtAttr || size > len(nested) {
			return ""
		}
		if kind == unix.IFLA_INFO_KIND {
			return text(nested[unix.SizeofRtAttr:size])
		}
		nested = nested[min(len(nested), (size+unix.RTA_ALIGNTO-1)&^(unix.RTA_ALIGNTO-1)):]
	}
	return ""
}

// addresses returns the addresses of the interfaces.
func addresses(links map[int]link) ([]Address, error) {
	messages, err := dump(unix.RTM_GETADDR)
	if err != nil {
		return nil, err
	}
	var all []Address
	for _, m := range messages {
		if m.Header.Type != unix.RTM_NEWADDR || len(m.Data) < unix.SizeofIfAddrmsg {
			continue
		}
		attributes, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return nil, err
		}
		var local, remote netip.Addr
		flags := uint32(m.Data[2])
		for _, a := range attributes {
			switch a.Attr.Type {
			case unix.IFA_LOCAL:
				local, _ = netip.AddrFromSlice(a.Value)
			case unix.IFA_ADDRESS: // of the peer, if there is a local one
				remote, _ = netip.AddrFromSlice(a.Value)
			case unix.IFA_FLAGS:
				if len(a.Value) >= 4 {
					flags = native32(a.Value)
				}
			}
		}
		if !local.IsValid() {
			local = remote
		}
		if !local.IsValid() {
			continue
		}
		l := links[int(native32(m.Data[4:]))]
		all = append(all, Address{
			Prefix: netip.PrefixFrom(local, int(m.Data[1])), Link: l.name, Inner: l.inner,
			Up: l.flags&unix.IFF_UP != 0, Carrier: l.flags&unix.IFF_RUNNING != 0, PointToPoint: l.flags&unix.IFF_POINTOPOINT != 0,
			Tentative:  local.Is6() && flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) != 0 && flags&unix.IFA_F_OPTIMISTIC == 0,
			Deprecated: local.Is6() && flags&unix.IFA_F_DEPRECATED != 0,
			Temporary:  local.Is6() && flags&unix.IFA_F_TEMPORARY != 0,
		})
	}
	return all, nil
}

// dump asks the kernel for all links or addresses.
func dump(what int) ([]syscall.NetlinkMessage, error) {
	data, err := syscall.NetlinkRIB(what, unix.AF_UNSPEC)
	if err != nil {
		return nil, os.NewSyscallError("netlink", err)
	}
	return syscall.ParseNetlinkMessage(data)
}

// listen returns what tells of changes of links and addresses.
//
// Errors: those of the system.
func listen() (notices, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{
		Family: unix.AF_NETLINK, Groups: unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR,
	}); err != nil {
		_ = unix.Close(fd) // the first error counts
		return nil, os.NewSyscallError("bind", err)
	}
	return os.NewFile(uintptr(fd), "rtnetlink"), nil
}

// isOverflow reports whether notices were lost, so that a look finds what they would have
// told.
func isOverflow(err error) bool { return errors.Is(err, unix.ENOBUFS) }

func text(b []byte) string { return strings.TrimRight(string(b), "\x00") }
