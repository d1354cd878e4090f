// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

// TestEndpoint_Send_sendsMemoryThatIsMappedAnewAsItIs is about libfabric's cache of memory
// registrations, which does not hear of what Go unmaps: with it, the device sends
// what was at the address before (see package fi).
func TestEndpoint_Send_sendsMemoryThatIsMappedAnewAsItIs(t *testing.T) {
	if provider() != rdma.ProviderVerbs {
		t.Skipf("no RDMA device: the provider %s registers nothing; NETIO_RDMA_PROV=verbs runs this test", provider())
	}
	const bytesMapped = 64 << 10
	const bytesSent = 2000 // too many to be copied when they are posted
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: provider()})

	var at unsafe.Pointer
	for round, content := range []byte("abc") {
		flags := unix.MAP_PRIVATE | unix.MAP_ANON
		if round > 0 {
			flags |= unix.MAP_FIXED_NOREPLACE
		}
		p, err := unix.MmapPtr(-1, 0, at, bytesMapped, unix.PROT_READ|unix.PROT_WRITE, flags)
		if err != nil {
			t.Fatalf("mmap at %v: got error %v, want none", at, err)
		}
		at = p
		region := unsafe.Slice((*byte)(p), bytesMapped)
		for i := range region {
			region[i] = content
		}
		if err := b.OpenEndpoint(s.l.Addr(), netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", w.Established)
		if err := ep.Send(1, nil, region[:bytesSent]); err != nil {
			t.Fatalf("Send: got error %v, want none", err)
		}
		if got, want := next(t, "a message", s.Data), bytes.Repeat([]byte{content}, bytesSent); !bytes.Equal(got, want) {
			t.Errorf("message %d: got %d bytes that begin with %q, want %d of %q", round, len(got), got[:1], len(want), want[:1])
		}
		next(t, "OnSendCompleted", w.Completed)
		if err := ep.Close(); err != nil {
			t.Fatalf("Close: got error %v, want none", err)
		}
		next(t, "OnConnectionClosed", w.Closed) // the region is not registered any more
		if err := unix.MunmapPtr(p, bytesMapped); err != nil {
			t.Fatalf("munmap: got error %v, want none", err)
		}
	}
}
