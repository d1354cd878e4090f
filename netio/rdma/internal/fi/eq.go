// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#cgo noescape fix_eq_read
#cgo nocallback fix_eq_read
#cgo noescape fix_trywait
#cgo nocallback fix_trywait
#include <stdlib.h>
#include "fi.h"
*/
import "C"

import "unsafe"

// EventType says what an Event is about.
type EventType uint32

// Types of events.
const (
	Failed            EventType = 0 // see Event.Err
	ConnectionRequest EventType = C.FI_CONNREQ
	Connected         EventType = C.FI_CONNECTED
	Shutdown          EventType = C.FI_SHUTDOWN
)

// Event is something that happened to a connection.
type Event struct {
	Type    EventType
	Context uint64 // of the endpoint; 0 with ConnectionRequest, and if the driver does not say
	Info    *Info  // of ConnectionRequest: for an endpoint, and to be freed
	Err     Errno  // of Failed
	Data    []byte // that the other side has sent along, perhaps with zeros behind; valid until the next Read
}

// eventsPerRead is how many events cross at once.
const eventsPerRead = 16

// EQ is an event queue: it tells what happens to connections.
type EQ struct {
	p      *C.struct_fid_eq
	fabric *Fabric
	fd     int
	c      *[eventsPerRead]C.struct_fix_event
	events [eventsPerRead]Event
}

// OpenEQ opens an event queue with a descriptor.
//
// Implements:
//
//	int fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context)
//	int fi_control(struct fid *fid, int command, void *arg) // FI_GETWAIT
func (f *Fabric) OpenEQ() (*EQ, error) {
	q := &EQ{fabric: f}
	var fd C.int
	if err := attempt("fi_eq_open", func() C.int { return C.fix_eq_open(f.p, &q.p, &fd) }); err != nil {
		return nil, err
	}
	q.fd = int(fd)
	q.c = (*[eventsPerRead]C.struct_fix_event)(C.calloc(eventsPerRead, C.sizeof_struct_fix_event))
	return q, nil
}

// FD returns the descriptor that is readable when there may be events. It
// belongs to q.
func (q *EQ) FD() int { return q.fd }

// Read returns the next events, none if there are none. They are valid until the
// next Read.
//
// Implements:
//
//	ssize_t fi_eq_read(struct fid_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
//	ssize_t fi_eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
func (q *EQ) Read() []Event {
	n := int(C.fix_eq_read(q.p, &q.c[0], eventsPerRead))
	for i := range n {
		c := &q.c[i]
		e := Event{Type: EventType(c._type), Context: uint64(c.context), Err: Errno(c.err)}
		if c.info != nil {
			e.Info = &Info{c.info}
		}
		e.Data = unsafe.Slice((*byte)(&c.data[0]), int(c.len))
		q.events[i] = e
	}
	return q.events[:n]
}

// TryWait reports whether the descriptor will become readable at the next event. If
// not, Read first.
//
// Implements:
//
//	int fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
func (q *EQ) TryWait() bool { return C.fix_trywait(q.fabric.p, &q.p.fid) == 0 }

// Close closes the queue and its descriptor.
func (q *EQ) Close() error {
	if q.c != nil {
		C.free(unsafe.Pointer(q.c))
		q.c = nil
	}
	return closeObject(&q.p)
}
