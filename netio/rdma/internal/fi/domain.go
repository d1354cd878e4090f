// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#include "fi.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Domain is a port of a device, or what stands for one.
type Domain struct {
	p      *C.struct_fid_domain
	held   *unsafe.Pointer // of lister.c
	fabric *Fabric
}

// OpenDomain opens the domain of i. It looks for the devices that there are, which one
// thread of C does for all (lister.c).
//
// Implements:
//
//	int fi_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain, void *context)
func (f *Fabric) OpenDomain(i *Info) (*Domain, error) {
	d := &Domain{fabric: f}
	if err := attempt("fi_domain", func() C.int { return C.fix_domain(f.p, i.p, &d.p, &d.held) }); err != nil {
		return nil, err
	}
	return d, nil
}

// Close closes the domain, whose device may have been removed.
//
// Implements:
//
//	int fi_close(struct fid *fid)
func (d *Domain) Close() error {
	if d.p == nil {
		return nil
	}
	rc := C.fix_domain_close(d.p, d.held)
	d.p = nil
	return check("fi_close", rc)
}

// LookForDevices has the libraries below find out which devices have come or gone. Those that have
// gone are closed when no domain is open on them.
func LookForDevices() {
	prepare()
	C.fix_look()
}

// MR is memory that is registered with a device for sending and receiving.
type MR struct {
	p    *C.struct_fid_mr
	desc uint64
	pin  *pinned
	leak runtime.Cleanup
}

// Register registers mem, of at least one byte, until Close. It may be memory of
// Go, which stays where it is meanwhile.
//
// Errors: *Error; ENOMEM may mean that RLIMIT_MEMLOCK is too small.
//
// Implements:
//
//	int fi_mr_reg(struct fid_domain *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
//	    uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
//	void *fi_mr_desc(struct fid_mr *mr)
func (d *Domain) Register(mem []byte) (*MR, error) {
	m := &MR{pin: pin(mem)}
	var desc C.uint64_t
	err := attempt("fi_mr_reg", func() C.int {
		return C.fix_mr_reg(d.p, unsafe.Pointer(unsafe.SliceData(mem)), C.size_t(len(mem)), &m.p, &desc)
	})
	if err != nil {
		m.pin.end()
		return nil, err
	}
	m.desc = uint64(desc)
	m.watch()
	return m, nil
}

// Desc returns what a Piece of the memory carries.
func (m *MR) Desc() uint64 { return m.desc }

// Close ends the registration.
func (m *MR) Close() error {
	err := closeObject(&m.p)
	m.leak.Stop()
	m.pin.end()
	return err
}

// CQ is a completion queue.
type CQ struct {
	p      *C.struct_fid_cq
	fabric *Fabric
	fd     int
}

// OpenCQ opens a completion queue with a descriptor, for size completions.
//
// Implements:
//
//	int fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context)
//	int fi_control(struct fid *fid, int command, void *arg) // FI_GETWAIT
func (d *Domain) OpenCQ(size int) (*CQ, error) {
	q := &CQ{fabric: d.fabric}
	var fd C.int
	if err := attempt("fi_cq_open", func() C.int { return C.fix_cq_open(d.p, C.size_t(size), &q.p, &fd) }); err != nil {
		return nil, err
	}
	q.fd = int(fd)
	return q, nil
}

// FD returns the descriptor that is readable when there may be completions, if
// a Drain has left q armed. It belongs to q. -1: the provider has none, and q is
// never armed; it is to be read now and then.
func (q *CQ) FD() int { return q.fd }

// Drain returns the request to read from q in a Ring.Turn.
func (q *CQ) Drain() Drain {
	if q.fd < 0 {
		return Drain{cq: handle(q.p)}
	}
	return Drain{fabric: handle(q.fabric.p), cq: handle(q.p)}
}

// Close closes the queue and its descriptor.
func (q *CQ) Close() error { return closeObject(&q.p) }

// SRX is a shared receive context: what is posted to it, the endpoints bound to
// it receive, each as a completion on its own queue.
type SRX struct{ p *C.struct_fid_ep }

// OpenSRX opens a shared receive context for size receives.
//
// Implements:
//
//	int fi_srx_context(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx_ep, void *context)
func (d *Domain) OpenSRX(i *Info, size int) (*SRX, error) {
	s := &SRX{}
	if err := attempt("fi_srx_context", func() C.int { return C.fix_srx_open(d.p, i.p, C.size_t(size), &s.p) }); err != nil {
		return nil, err
	}
	return s, nil
}

// Handle returns what an Op posts to.
func (s *SRX) Handle() uint64 { return handle(s.p) }

// Close closes the context. What is posted is forgotten without completion.
func (s *SRX) Close() error { return closeObject(&s.p) }
