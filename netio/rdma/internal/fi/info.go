// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#include <stdlib.h>
#include "fi.h"
*/
import "C"

import (
	"net/netip"
	"strconv"
	"unsafe"
)

// Hints says what endpoints are to be like.
type Hints struct {
	RDM      bool           // endpoints of type FI_EP_RDM, without connections; else FI_EP_MSG
	Provider string         // "tcp", "net", "verbs"; "tcp;ofi_rxm"
	Addr     netip.AddrPort // to listen on, or to connect to
	Listen   bool
	Domain   string     // "": any
	From     netip.Addr // of this side, where it does not listen; the zero value: any
	Source   []byte     // the same in the provider's form, with RDM, where that is none of the internet; nil: any

	// TxSize and RxSize are how many sends and receives an endpoint is to take
	// at once. 0: the provider's default.
	TxSize, RxSize int
}

// Info describes endpoints that a provider offers.
type Info struct{ p *C.struct_fi_info }

// GetInfo returns the provider's best offer.
//
// Errors: *Error; ENODATA means that there is no such provider, no device for
// the address, or that the sizes are too large. Threads: any. Blocks: for some
// 100 ms the first time, when all providers are initialised.
//
// Implements:
//
//	int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
//	    const struct fi_info *hints, struct fi_info **info)
func GetInfo(h Hints) (*Info, error) {
	prepare()
	var c C.struct_fix_hints
	c.provider = C.CString(h.Provider)
	defer C.free(unsafe.Pointer(c.provider))
	if h.Addr.IsValid() {
		c.node = C.CString(h.Addr.Addr().Unmap().String())
		defer C.free(unsafe.Pointer(c.node))
		c.service = C.CString(strconv.Itoa(int(h.Addr.Port())))
		defer C.free(unsafe.Pointer(c.service))
	}
	if h.Listen {
		c.listen = 1
	}
	if h.RDM {
		c.rdm = 1
	}
	if h.Domain != "" {
		c.domain = C.CString(h.Domain)
		defer C.free(unsafe.Pointer(c.domain))
	}
	source := h.Source
	if h.From.IsValid() {
		source, c.srcformat = SocketAddr(netip.AddrPortFrom(h.From, 0)), C.FI_SOCKADDR_IN6
		if h.From.Unmap().Is4() {
			c.srcformat = C.FI_SOCKADDR_IN
		}
	}
	if len(source) > 0 {
		c.src, c.srclen = C.CBytes(source), C.uint64_t(len(source))
		defer C.free(c.src)
	}
	c.tx_size, c.rx_size = C.uint64_t(h.TxSize), C.uint64_t(h.RxSize)
	i := &Info{}
	if err := check("fi_getinfo", C.fix_getinfo(&c, &i.p)); err != nil {
		return nil, err
	}
	return i, nil
}

// Free releases i.
//
// Implements:
//
//	void fi_freeinfo(struct fi_info *info)
func (i *Info) Free() {
	if i.p != nil {
		C.fi_freeinfo(i.p)
		i.p = nil
	}
}

// Provider returns the provider's name, which may be more than was asked for.
func (i *Info) Provider() string { return C.GoString(i.p.fabric_attr.prov_name) }

// Fabric returns the name of the fabric: endpoints of one can reach each other.
func (i *Info) Fabric() string { return C.GoString(i.p.fabric_attr.name) }

// Domain returns the name of the domain: a port of a device.
func (i *Info) Domain() string { return C.GoString(i.p.domain_attr.name) }

// IsIWARP reports whether a send that finds no receive posted ends the connection.
func (i *Info) IsIWARP() bool { return i.p.ep_attr.protocol == C.FI_PROTO_IWARP }

// Limits returns those of an endpoint.
func (i *Info) Limits() Limits {
	return Limits{
		MessageBytes: uint64(i.p.ep_attr.max_msg_size),
		InjectBytes:  int(i.p.tx_attr.inject_size),
		TxSize:       int(i.p.tx_attr.size),
		RxSize:       int(i.p.rx_attr.size),
		TxPieces:     int(i.p.tx_attr.iov_limit),
	}
}

// Limits are what an endpoint takes.
type Limits struct {
	MessageBytes uint64 // of one message
	InjectBytes  int    // of a message that is copied when it is posted
	TxSize       int    // sends at once
	RxSize       int    // receives at once
	TxPieces     int    // pieces of memory of one send
}

// RemoteAddr returns the address of the other side, as far as i knows it.
func (i *Info) RemoteAddr() netip.AddrPort {
	return addrOf(i.p.dest_addr, i.p.dest_addrlen)
}

// addrOf converts a sockaddr; the zero AddrPort is one of no known family.
func addrOf(p unsafe.Pointer, n C.size_t) netip.AddrPort {
	if p == nil {
		return netip.AddrPort{}
	}
	return parseSockaddr(unsafe.Slice((*byte)(p), int(n)))
}
