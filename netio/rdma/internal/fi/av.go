// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#include "fi.h"
*/
import "C"

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// AV is an address vector: the addresses to which an endpoint of type FI_EP_RDM
// sends.
type AV struct{ p *C.struct_fid_av }

// OpenAV opens an address vector.
//
// Implements:
//
//	int fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av, void *context)
func (d *Domain) OpenAV() (*AV, error) {
	a := &AV{}
	if err := attempt("fi_av_open", func() C.int { return C.fix_av_open(d.p, &a.p) }); err != nil {
		return nil, err
	}
	return a, nil
}

// Insert adds an address in the provider's form, and returns what an Op carries.
//
// Implements:
//
//	int fi_av_insert(struct fid_av *av, void *addr, size_t count, fi_addr_t *fi_addr, uint64_t flags, void *context)
func (a *AV) Insert(addr []byte) (uint64, error) {
	// Room for providers that read an address of full length, whatever they are given.
	mem := make([]byte, maxAddrBytes)
	copy(mem, addr)
	var out C.fi_addr_t
	var n C.int
	err := attempt("fi_av_insert", func() C.int {
		n = C.fi_av_insert(a.p, unsafe.Pointer(unsafe.SliceData(mem)), 1, &out, 0, nil)
		return min(n, 0)
	})
	switch {
	case err != nil:
		return 0, err
	case n == 0 || out == C.FI_ADDR_NOTAVAIL:
		return 0, &Error{"fi_av_insert", EINVAL}
	}
	return uint64(out), nil
}

// Remove takes an address out, to which nothing is under way.
//
// Implements:
//
//	int fi_av_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags)
func (a *AV) Remove(addr uint64) error {
	c := C.fi_addr_t(addr)
	return check("fi_av_remove", C.fi_av_remove(a.p, &c, 1, 0))
}

// Close closes the address vector. The endpoints that use it are closed.
func (a *AV) Close() error { return closeObject(&a.p) }

// BindAV connects an endpoint of type FI_EP_RDM with its addresses and its queue,
// as Bind does for one with a connection.
//
// Implements:
//
//	int fi_ep_bind(struct fid_ep *ep, struct fid *bfid, uint64_t flags)
func (e *EP) BindAV(a *AV, completions *CQ) error {
	if err := attempt("fi_ep_bind", func() C.int { return C.fi_ep_bind(e.p, &a.p.fid, 0) }); err != nil {
		return err
	}
	return e.bindCQ(completions)
}

// maxAddrBytes is more than any provider's address has.
const maxAddrBytes = 256

// RawName returns this side's address in the provider's form.
//
// Implements:
//
//	int fi_getname(fid_t fid, void *addr, size_t *addrlen)
func (e *EP) RawName() ([]byte, error) {
	mem := make([]byte, maxAddrBytes)
	n := C.size_t(len(mem))
	if err := attempt("fi_getname", func() C.int { return C.fi_getname(&e.p.fid, unsafe.Pointer(unsafe.SliceData(mem)), &n) }); err != nil {
		return nil, err
	}
	return mem[:min(int(n), len(mem))], nil
}

// HasSocketAddrs reports whether addresses are those of the internet.
func (i *Info) HasSocketAddrs() bool {
	switch i.p.addr_format {
	case C.FI_SOCKADDR, C.FI_SOCKADDR_IN, C.FI_SOCKADDR_IN6:
		return true
	default:
		return false
	}
}

// ParseSocketAddr returns an address of the internet that is in the provider's
// form. What is none is the zero AddrPort.
func ParseSocketAddr(raw []byte) netip.AddrPort { return parseSockaddr(raw) }

// SocketAddr is the opposite of ParseSocketAddr.
func SocketAddr(addr netip.AddrPort) []byte {
	host := addr.Addr().Unmap()
	if host.Is4() {
		raw := make([]byte, unix.SizeofSockaddrInet4)
		binary.NativeEndian.PutUint16(raw, unix.AF_INET)
		binary.BigEndian.PutUint16(raw[2:], addr.Port())
		copy(raw[4:], host.AsSlice())
		return raw
	}
	raw := make([]byte, unix.SizeofSockaddrInet6)
	binary.NativeEndian.PutUint16(raw, unix.AF_INET6)
	binary.BigEndian.PutUint16(raw[2:], addr.Port())
	copy(raw[8:], host.AsSlice())
	binary.NativeEndian.PutUint32(raw[24:], zoneIndex(host.Zone()))
	return raw
}

func zoneIndex(name string) uint32 {
	if i, err := net.InterfaceByName(name); err == nil {
		return uint32(i.Index)
	}
	n, _ := strconv.ParseUint(name, 10, 32) // 0, no zone, if it is none
	return uint32(n)
}

// AnyAddr is the Addr of an Op that receives from all.
const AnyAddr uint64 = C.FI_ADDR_UNSPEC
