// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#include "fi.h"
*/
import "C"

import (
	"net/netip"
	"unsafe"
)

// EP is an endpoint: one connection, or one without (FI_EP_RDM) that sends to the
// addresses of an AV.
type EP struct{ p *C.struct_fid_ep }

// OpenEP opens an endpoint for i. context is that of its events. shared: it will
// be bound to a shared receive context.
//
// Implements:
//
//	int fi_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
func (d *Domain) OpenEP(i *Info, context uint64, shared bool) (*EP, error) {
	e := &EP{}
	var s C.int
	if shared {
		s = 1
	}
	if err := attempt("fi_endpoint", func() C.int { return C.fix_endpoint(d.p, i.p, C.uint64_t(context), s, &e.p) }); err != nil {
		return nil, err
	}
	return e, nil
}

// Bind connects e with its queues, and with a shared receive context if that is
// not nil. Sends complete only if their Op has the flag Completion, or when they
// fail.
//
// Implements:
//
//	int fi_ep_bind(struct fid_ep *ep, struct fid *bfid, uint64_t flags)
func (e *EP) Bind(events *EQ, completions *CQ, srx *SRX) error {
	if err := attempt("fi_ep_bind", func() C.int { return C.fi_ep_bind(e.p, &events.p.fid, 0) }); err != nil {
		return err
	}
	if srx != nil {
		if err := attempt("fi_ep_bind", func() C.int { return C.fi_ep_bind(e.p, &srx.p.fid, 0) }); err != nil {
			return err
		}
	}
	return e.bindCQ(completions)
}

func (e *EP) bindCQ(completions *CQ) error {
	if err := attempt("fi_ep_bind", func() C.int { return C.fi_ep_bind(e.p, &completions.p.fid, C.FI_TRANSMIT|C.FI_SELECTIVE_COMPLETION) }); err != nil {
		return err
	}
	return attempt("fi_ep_bind", func() C.int { return C.fi_ep_bind(e.p, &completions.p.fid, C.FI_RECV) })
}

// Enable makes e ready for posts.
//
// Implements:
//
//	int fi_enable(struct fid_ep *ep)
func (e *EP) Enable() error { return attempt("fi_enable", func() C.int { return C.fi_enable(e.p) }) }

// Connect begins to connect to the address of i. data goes to the other side
// with the request; 56 bytes are sure to fit.
//
// Implements:
//
//	int fi_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen)
func (e *EP) Connect(i *Info, data []byte) error {
	return attempt("fi_connect", func() C.int {
		return C.fi_connect(e.p, i.p.dest_addr, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)))
	})
}

// Accept accepts the request whose Info e was opened for. data: as in Connect.
//
// Implements:
//
//	int fi_accept(struct fid_ep *ep, const void *param, size_t paramlen)
func (e *EP) Accept(data []byte) error {
	return attempt("fi_accept", func() C.int {
		return C.fi_accept(e.p, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data)))
	})
}

// Shutdown tells the other side that the connection ends.
//
// Implements:
//
//	int fi_shutdown(struct fid_ep *ep, uint64_t flags)
func (e *EP) Shutdown() error { return check("fi_shutdown", C.fi_shutdown(e.p, 0)) }

// Name returns this side's address.
//
// Implements:
//
//	int fi_getname(fid_t fid, void *addr, size_t *addrlen)
func (e *EP) Name() (netip.AddrPort, error) { return name(&e.p.fid) }

// Handle returns what an Op posts to.
func (e *EP) Handle() uint64 { return handle(e.p) }

// Close ends the connection. After it nothing touches the memory of posts, and their
// completions are in the queue, except those of a shared receive context.
func (e *EP) Close() error { return closeObject(&e.p) }
