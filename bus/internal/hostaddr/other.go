// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package hostaddr

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// list returns the addresses of this host, of which package net knows less than the kernel.
//
// Errors: those of the system.
func list() (all []Address, err error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this host: %w", err)
	}
	for i := range links {
		l := &links[i]
		of, err := l.Addrs()
		if err != nil {
			continue // it has gone meanwhile
		}
		for _, a := range of {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				all = append(all, Address{
					Prefix: prefix, Link: l.Name, Inner: true,
					Up: l.Flags&net.FlagUp != 0, Carrier: l.Flags&net.FlagRunning != 0, PointToPoint: l.Flags&net.FlagPointToPoint != 0,
				})
			}
		}
	}
	return all, nil
}

// listen returns an error: there are no notices, and looks find what has changed.
func listen() (notices, error) { return nil, errors.ErrUnsupported }

// isOverflow reports false: there are no notices.
func isOverflow(error) bool { return false }
