// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"slices"
	"strings"
	"testing"

	"tagbus/netio/rdma"
)

// TestFabrics_ofThisHost finds the provider that the other tests use.
func TestFabrics_ofThisHost(t *testing.T) {
	s, err := rdma.Fabrics()
	if err != nil {
		t.Fatalf("Fabrics: got error %v, want none", err)
	}
	i := slices.IndexFunc(s.Fabrics, func(f rdma.Fabric) bool {
		return f.Usable && f.Provider == provider() && slices.Contains(f.Addresses, loopback().Addr())
	})
	if i < 0 {
		t.Fatalf("got no usable fabric of provider %s at %v in\n%s", provider(), loopback().Addr(), s.Text())
	}
	if f := s.Fabrics[i]; !slices.Contains(f.Kinds, "FI_EP_MSG") || f.MaxMessageBytes < 1<<20 || !f.SharedReceive {
		t.Errorf("got %+v, want connected endpoints that share receive buffers, and large messages", f)
	}
	if !strings.Contains(s.Text(), "rdma:"+provider()) || s.Libfabric == "" {
		t.Errorf("got %q, want the backend rdma:%s in it", s.Text(), provider())
	}
}
