// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// loopback is an address of this host with port 0.
func loopback() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") }

func TestConfigNamesAllViolations(t *testing.T) {
	if err := (shm.Config{}).Validate(); err != nil {
		t.Errorf("Validate of the zero value: got error %v, want none", err)
	}
	bad := shm.Config{Folder: strings.Repeat("x", 100), RingSlots: 17, ArenaBytes: 5000, MaxEndpoints: 70_000}
	bad.Mode = -1
	err := bad.Validate()
	if !errors.Is(err, netio.ErrInvalidConfig) {
		t.Errorf("Validate: got error %v, want %v", err, netio.ErrInvalidConfig)
	}
	for _, field := range []string{"Folder", "RingSlots", "ArenaBytes", "MaxEndpoints", "Mode"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("Validate: got error %v, want one that names %s", err, field)
		}
	}
	if _, err := shm.Opener(nil, bad)(netio.NopHandler{}); !errors.Is(err, netio.ErrInvalidConfig) {
		t.Errorf("open: got error %v, want %v", err, netio.ErrInvalidConfig)
	}
}

func TestNameIsThatOfAnAddress(t *testing.T) {
	b, _ := backendtest.Open(t, reactor.Config{}, netio.NopHandler{}, opener(shm.Config{Folder: folder(t)}))
	for _, zone := range []string{"a/b", strings.Repeat("z", 100)} {
		addr := netip.AddrPortFrom(netip.MustParseAddr("fe80::1").WithZone(zone), 1)
		if _, err := b.OpenListenEndpoint(addr, netio.Params{}); !errors.Is(err, netio.ErrInvalidAddress) {
			t.Errorf("OpenListenEndpoint(%v): got error %v, want %v", addr, err, netio.ErrInvalidAddress)
		}
		if err := b.OpenEndpoint(addr, netio.Params{}); !errors.Is(err, netio.ErrInvalidAddress) {
			t.Errorf("OpenEndpoint(%v): got error %v, want %v", addr, err, netio.ErrInvalidAddress)
		}
	}
}
