// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#include "fi.h"
*/
import "C"

import (
	"iter"
	"net/netip"
)

// Endpoint types of an Info.
const (
	EPMsg   = "FI_EP_MSG"   // connected
	EPRDM   = "FI_EP_RDM"   // reliable, without connections
	EPDgram = "FI_EP_DGRAM" // neither
)

// List returns all that all providers offer. Free it.
//
// Errors: *Error; ENODATA means nothing. Threads, Blocks: as GetInfo.
//
// Implements:
//
//	int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
//	    const struct fi_info *hints, struct fi_info **info)
func List() (*Info, error) {
	prepare()
	i := &Info{}
	if err := check("fi_getinfo", C.fix_list(&i.p)); err != nil {
		return nil, err
	}
	return i, nil
}

// All iterates over i and what follows it. They are valid until i is freed.
func (i *Info) All() iter.Seq[*Info] {
	return func(yield func(*Info) bool) {
		for p := i.p; p != nil; p = p.next {
			if !yield(&Info{p}) {
				return
			}
		}
	}
}

// EPType returns one of the endpoint types above, or "" for another.
func (i *Info) EPType() string {
	switch i.p.ep_attr._type {
	case C.FI_EP_MSG:
		return EPMsg
	case C.FI_EP_RDM:
		return EPRDM
	case C.FI_EP_DGRAM:
		return EPDgram
	default:
		return ""
	}
}

// NeedsContext reports whether each request must lend the provider memory, which an
// Op cannot (psm, psm2).
func (i *Info) NeedsContext() bool { return i.p.mode&(C.FI_CONTEXT|C.FI_CONTEXT2) != 0 }

// SharesReceives reports whether endpoints can receive into a shared context.
func (i *Info) SharesReceives() bool { return i.p.domain_attr.max_ep_srx_ctx > 0 }

// LocalAddr returns the address of this side; the zero AddrPort if it is none of
// the internet.
func (i *Info) LocalAddr() netip.AddrPort {
	switch i.p.addr_format {
	case C.FI_SOCKADDR, C.FI_SOCKADDR_IN, C.FI_SOCKADDR_IN6:
		return addrOf(i.p.src_addr, i.p.src_addrlen)
	default:
		return netip.AddrPort{}
	}
}

// Link returns the speed of the network card's link, in bits per second, and
// whether it is up. known: the provider says so.
func (i *Info) Link() (bitsPerSecond uint64, up, known bool) {
	if i.p.nic == nil || i.p.nic.link_attr == nil {
		return 0, false, false
	}
	link := i.p.nic.link_attr
	return uint64(link.speed), link.state == C.FI_LINK_UP, link.state != C.FI_LINK_UNKNOWN
}
