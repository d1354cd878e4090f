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

// Fabric is a network: what can reach each other.
type Fabric struct{ p *C.struct_fid_fabric }

// OpenFabric opens the fabric of i.
//
// Implements:
//
//	int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
func OpenFabric(i *Info) (*Fabric, error) {
	f := &Fabric{}
	if err := attempt("fi_fabric", func() C.int { return C.fi_fabric(i.p.fabric_attr, &f.p, nil) }); err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes the fabric.
func (f *Fabric) Close() error { return closeObject(&f.p) }

// PEP is a passive endpoint: it listens.
type PEP struct{ p *C.struct_fid_pep }

// OpenPEP opens a passive endpoint at the address of i.
//
// Implements:
//
//	int fi_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep, void *context)
func (f *Fabric) OpenPEP(i *Info) (*PEP, error) {
	p := &PEP{}
	if err := attempt("fi_passive_ep", func() C.int { return C.fi_passive_ep(f.p, i.p, &p.p, nil) }); err != nil {
		return nil, err
	}
	return p, nil
}

// Bind makes q report requests to connect.
//
// Implements:
//
//	int fi_pep_bind(struct fid_pep *pep, struct fid *bfid, uint64_t flags)
func (p *PEP) Bind(q *EQ) error {
	return attempt("fi_pep_bind", func() C.int { return C.fi_pep_bind(p.p, &q.p.fid, 0) })
}

// Listen begins to listen.
//
// Implements:
//
//	int fi_listen(struct fid_pep *pep)
func (p *PEP) Listen() error { return attempt("fi_listen", func() C.int { return C.fi_listen(p.p) }) }

// Name returns the address that p listens on.
//
// Implements:
//
//	int fi_getname(fid_t fid, void *addr, size_t *addrlen)
func (p *PEP) Name() (netip.AddrPort, error) { return name(&p.p.fid) }

func name(fid *C.struct_fid) (netip.AddrPort, error) {
	var mem [128]byte
	n := C.size_t(len(mem))
	if err := attempt("fi_getname", func() C.int { return C.fi_getname(fid, unsafe.Pointer(&mem), &n) }); err != nil {
		return netip.AddrPort{}, err
	}
	return parseSockaddr(mem[:n]), nil
}

// Reject refuses a request to connect, and frees its Info.
//
// Implements:
//
//	int fi_reject(struct fid_pep *pep, fid_t handle, const void *param, size_t paramlen)
func (p *PEP) Reject(request *Info) error {
	rc := C.fi_reject(p.p, request.p.handle, nil, 0)
	request.Free()
	return check("fi_reject", rc)
}

// Close ends listening.
func (p *PEP) Close() error { return closeObject(&p.p) }
