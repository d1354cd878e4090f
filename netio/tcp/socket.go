// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// newSocket returns a socket for addr, with the options of c. Sockets that it
// accepts inherit them.
func newSocket(addr netip.AddrPort, c *Config) (fd int, to unix.Sockaddr, err error) {
	to, err = sockaddr(addr)
	if err != nil {
		return -1, nil, err
	}
	family := unix.AF_INET6
	if addr.Addr().Unmap().Is4() {
		family = unix.AF_INET
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, nil, fmt.Errorf("socket: %w", err)
	}
	if err := setOptions(fd, c); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	return fd, to, nil
}

// setOptions must come before listen and connect: the buffer sizes decide on
// the window scale that is offered to the peer.
func setOptions(fd int, c *Config) error {
	var err error
	set := func(level, option, value int, name string) {
		if err == nil {
			if err = unix.SetsockoptInt(fd, level, option, value); err != nil {
				err = fmt.Errorf("set %s to %d: %w", name, value, err)
			}
		}
	}
	// The backend gathers messages itself, and what it sends is to go at once.
	set(unix.IPPROTO_TCP, unix.TCP_NODELAY, 1, "TCP_NODELAY")
	if c.SendBufferBytes > 0 {
		set(unix.SOL_SOCKET, unix.SO_SNDBUF, c.SendBufferBytes, "SO_SNDBUF")
	}
	if c.ReceiveBufferBytes > 0 {
		set(unix.SOL_SOCKET, unix.SO_RCVBUF, c.ReceiveBufferBytes, "SO_RCVBUF")
	}
	if c.KeepaliveIdle > 0 {
		set(unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1, "SO_KEEPALIVE")
		set(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, int(c.KeepaliveIdle/time.Second), "TCP_KEEPIDLE")
		set(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, int(c.KeepaliveInterval/time.Second), "TCP_KEEPINTVL")
		set(unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepaliveProbes, "TCP_KEEPCNT")
	}
	if c.UserTimeout > 0 {
		set(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(c.UserTimeout/time.Millisecond), "TCP_USER_TIMEOUT")
	}
	if err == nil && c.CongestionControl != "" && c.CongestionControl != SystemCongestionControl {
		if err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, c.CongestionControl); err != nil {
			err = fmt.Errorf("set TCP_CONGESTION to %q (see net.ipv4.tcp_allowed_congestion_control): %w", c.CongestionControl, err)
		}
	}
	return err
}

// tuneToPeer chooses the algorithm for a connection within the host. That is
// known only when the connection stands, and is early enough: 131 KB writes of an
// accepted socket went at 6.5 GB/s, and at 6.7 GB/s where it had inherited the
// algorithm (with bbr 3.1). A system that refuses does as it would otherwise.
func tuneToPeer(fd int, local, remote netip.Addr, c *Config) {
	if c.CongestionControl == "" && sameHost(local, remote) {
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, sameHostCongestionControl)
	}
}

// sameHost reports whether the peer of a connection is on this host. The system
// gives a connection to an own address this same address at both ends.
func sameHost(local, remote netip.Addr) bool {
	local, remote = local.Unmap().WithZone(""), remote.Unmap().WithZone("") // a zone has two names
	return remote.IsLoopback() || remote == local
}

// listen makes a socket listen on addr, and returns the real address. On "[::]"
// it listens for IPv4 too, whatever net.ipv6.bindv6only says; endpoints show
// IPv4 peers with their IPv4 address.
func listen(fd int, at unix.Sockaddr, addr netip.AddrPort, backlog int) (netip.AddrPort, error) {
	// So that a restarted process gets its port back from connections that
	// still wait for stray segments. Two that listen still exclude each other.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return netip.AddrPort{}, fmt.Errorf("set SO_REUSEADDR: %w", err)
	}
	if addr.Addr() == netip.IPv6Unspecified() {
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			return netip.AddrPort{}, fmt.Errorf("set IPV6_V6ONLY to 0: %w", err)
		}
	}
	if err := unix.Bind(fd, at); err != nil {
		return netip.AddrPort{}, fmt.Errorf("bind: %w", err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return netip.AddrPort{}, fmt.Errorf("listen: %w", err)
	}
	return localAddr(fd)
}

// connect begins to connect; EINPROGRESS is no error.
func connect(fd int, to unix.Sockaddr) error {
	return begin(func() error { return unix.Connect(fd, to) })
}

// begin calls connect until it is not interrupted. The system goes on with what an
// interrupted call has begun: the next one finds it under way, or done.
func begin(connect func() error) error {
	err := connect()
	for again := false; ; again = true {
		switch {
		case err == nil, errors.Is(err, unix.EINPROGRESS):
			return nil
		case again && (errors.Is(err, unix.EALREADY) || errors.Is(err, unix.EISCONN)):
			return nil
		case !errors.Is(err, unix.EINTR):
			return err
		}
		err = connect()
	}
}

// abort makes the following close reset the connection. Errors do not matter:
// then it ends in order.
func abort(fd int) {
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// socketError fetches the error of a socket that has failed.
func socketError(fd int) error {
	if errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && errno != 0 {
		return unix.Errno(errno)
	}
	return unix.ECONNRESET // it was fetched before
}

// connected reports whether a connect has ended, and its error.
func connected(fd int) (done bool, err error) {
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return true, err
	}
	if errno != 0 {
		return true, unix.Errno(errno)
	}
	if _, err := unix.Getpeername(fd); err != nil {
		return false, nil // ENOTCONN: an event that came before the connect
	}
	return true, nil
}

// localAddr returns the address to which a socket is bound.
func localAddr(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("getsockname: %w", err)
	}
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), nil
	case *unix.SockaddrInet6:
		return addrOf6(sa.Addr, sa.ZoneId, uint16(sa.Port)), nil
	}
	return netip.AddrPort{}, netio.ErrInvalidAddress
}

// addrOf6 returns an address of the system in canonical form.
func addrOf6(ip [16]byte, zone uint32, port uint16) netip.AddrPort {
	addr := netip.AddrFrom16(ip).Unmap()
	if zone != 0 && addr.Is6() {
		name := strconv.FormatUint(uint64(zone), 10)
		if i, err := net.InterfaceByIndex(int(zone)); err == nil {
			name = i.Name
		}
		addr = addr.WithZone(name)
	}
	return netip.AddrPortFrom(addr, port)
}

// sockaddr returns the system's form of an address. Errors:
// netio.ErrInvalidAddress, wrapped, for a zone that is no interface.
func sockaddr(addr netip.AddrPort) (unix.Sockaddr, error) {
	ip := addr.Addr().Unmap()
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: int(addr.Port()), Addr: ip.As4()}, nil
	}
	sa := &unix.SockaddrInet6{Port: int(addr.Port()), Addr: ip.As16()}
	if zone := ip.Zone(); zone != "" {
		if i, err := net.InterfaceByName(zone); err == nil {
			sa.ZoneId = uint32(i.Index)
		} else if n, err := strconv.ParseUint(zone, 10, 32); err == nil {
			sa.ZoneId = uint32(n)
		} else {
			return nil, fmt.Errorf("%w: no network interface %q", netio.ErrInvalidAddress, zone)
		}
	}
	return sa, nil
}
