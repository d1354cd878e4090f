// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"net/netip"
	"testing"

	"tagbus/netio/rdma"
)

func TestParseAddr_addresses(t *testing.T) {
	tests := []struct {
		name, text string
		want       netip.AddrPort // zero: it is none
	}{
		{"an address of the internet", "10.0.0.1:1337", netip.MustParseAddrPort("10.0.0.1:1337")},
		{"one with a zone", "[fe80::1%eth0]:7", netip.MustParseAddrPort("[fe80::1%eth0]:7")},
		{"one of EFA", "fe8000000000000000112233445566778899aabb000000000000000000000000", rdma.FabricAddr([]byte("\xfe\x80\x00\x00\x00\x00\x00\x00\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))},
		{"nothing", "", netip.AddrPort{}},
		{"no digits", "elsewhere", netip.AddrPort{}},
		{"half a byte", "abc", netip.AddrPort{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rdma.ParseAddr(tt.text)
			if (err != nil) == tt.want.IsValid() || got != tt.want {
				t.Fatalf("ParseAddr(%q): got %v and error %v, want %v", tt.text, got, err, tt.want)
			}
			if err == nil && rdma.AddrText(got) != tt.text {
				t.Errorf("AddrText: got %q, want %q", rdma.AddrText(got), tt.text)
			}
			// As text it goes through the directory.
			if err == nil && netip.MustParseAddrPort(got.String()) != got {
				t.Errorf("text %q: got another address, want %v", got.String(), got)
			}
		})
	}
}

func TestRawAddr_isReadBack(t *testing.T) {
	raw, ok := rdma.RawAddr(rdma.FabricAddr([]byte("fi_shm://1:0:0")))
	if !ok || string(raw) != "fi_shm://1:0:0" {
		t.Errorf("there and back: got %q and %t, want what it was", raw, ok)
	}
	for _, text := range []string{"10.0.0.1:1", "[fe80::1%eth0]:1", "[::%fabric-]:1", "[::%fabric-xy]:1"} {
		if raw, ok := rdma.RawAddr(netip.MustParseAddrPort(text)); ok {
			t.Errorf("RawAddr(%s): got %q, want none", text, raw)
		}
	}
}
