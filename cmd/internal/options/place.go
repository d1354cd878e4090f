// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"net/netip"
	"strings"
)

// Place is where to listen by one transport.
type Place struct {
	Backend string
	At      netip.AddrPort
}

// UnmarshalText reads TRANSPORT=ADDR[:PORT], with what Address takes behind the sign.
func (p *Place) UnmarshalText(text []byte) error {
	backend, addr, ok := strings.Cut(string(text), "=")
	if !ok || backend == "" {
		return fmt.Errorf("%q is no place to listen at: want TRANSPORT=ADDR[:PORT], such as rdma:verbs=10.1.0.1", text)
	}
	var at Address
	if err := at.UnmarshalText([]byte(addr)); err != nil {
		return err
	}
	p.Backend, p.At = backend, at.AddrPort
	return nil
}
