// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// hub is an endpoint of libfabric without connections (FI_EP_RDM), and what the
// endpoints of netio share that go through it: their addresses, their receive
// buffers, and one completion queue.
//
// A backend has one for all endpoints that it opens, and one for each listen
// endpoint, as that has an address of its own. It needs more than one of the first
// kind for endpoints to other networks (another domain of libfabric), and for
// those that receive messages of very different sizes.
//
// Each hub has a domain of its own: so it can be opened by any goroutine, while
// the loop uses the others.
type hub struct {
	backend *backend
	device  *device
	ep      *fi.EP
	av      *fi.AV
	name    []byte // its address in the provider's form
	addr    netip.AddrPort
	dials   string // its key in backend.dialing; "": it is that of a listen endpoint

	// Only in a step.
	watch
	handle    uint64
	begun     bool
	queued    bool // in the worklist
	listener  *listenEndpoint
	slots     *receivePool
	unposted  []uint32 // of slots
	retry     alarm.Alarm
	letters   letters
	addresses map[string]*peerAddr
	users     map[uint64]*endpoint // by the last bits of their numbers
	serving   *endpoint            // whose callback is being made
	kept      []func()             // what must outlive its endpoint
	sweep     alarm.Alarm          // of addresses
	closing   alarm.Alarm
}

// generation are the bits of an endpoint's number that a context has, too.
const generation = 1<<24 - 1

// openHub opens a hub for i, for messages of size bytes. Errors: *fi.Error, and
// the system's. Threads: any.
func (b *backend) openHub(i *fi.Info, size, buffers int) (_ *hub, err error) {
	h := &hub{
		backend:   b,
		addresses: make(map[string]*peerAddr),
		users:     make(map[uint64]*endpoint),
		device: &device{
			backend: b, name: i.Fabric() + " " + i.Domain(), limits: i.Limits(), regions: make(map[region]*registered),
		},
	}
	h.device.gatherer.device = h.device
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if err = h.device.openDomain(i); err != nil {
		return nil, err
	}
	limits := h.device.limits
	buffers = max(1, min(buffers, limits.RxSize))
	if h.slots, err = newReceivePool(h.device, buffers, frameBytes+max(size, greetingBytes+maxNameBytes)); err != nil {
		return nil, err
	}
	if err = h.letters.open(h.device); err != nil {
		return nil, err
	}
	if h.cq, err = h.device.domain.OpenCQ(limits.TxSize + limits.RxSize); err != nil {
		return nil, err
	}
	if h.av, err = h.device.domain.OpenAV(); err != nil {
		return nil, err
	}
	if h.ep, err = h.device.domain.OpenEP(i, 0, false); err != nil {
		return nil, err
	}
	if err = errors.Join(h.ep.BindAV(h.av, h.cq), h.ep.Enable()); err != nil {
		return nil, err
	}
	h.drain, h.handle = h.cq.Drain(), h.ep.Handle()
	if h.name, err = h.ep.RawName(); err != nil {
		return nil, err
	}
	if len(h.name) > maxNameBytes {
		return nil, fmt.Errorf("rdma: an address of %d bytes, want at most %d", len(h.name), maxNameBytes)
	}
	h.addr = b.addrOf(h.name)
	return h, nil
}

// Work implements handover.Worker.
func (h *hub) Work() {
	h.queued = false
	if h.ep == nil {
		return
	}
	if !h.begun {
		h.begin()
	}
	h.sendLetters()
	h.tryClose()
}

func (h *hub) enqueue() {
	if !h.queued {
		h.queued = true
		h.backend.Enqueue(h)
	}
}

func (h *hub) begin() {
	b := h.backend
	h.begun = true
	b.hubs = append(b.hubs, h)
	h.retry.F = h.unstick
	for slot := range h.slots.count {
		h.postReceive(uint32(slot))
	}
	if err := b.watchQueue(h); err != nil {
		b.warn("cannot watch a completion queue: nothing connects there", "addr", h.addr, "err", err)
	}
	b.look(h)
}

// OnEvent implements reactor.Source: the queue is to be read.
func (h *hub) OnEvent(reactor.Events) {
	h.backend.Turn.Lock()
	defer h.backend.Turn.Unlock()
	h.backend.look(h)
}

func (h *hub) postReceive(slot uint32) {
	h.slots.fillOp(h.backend.op(h), h.handle, contextOf(kindReceive, 0, slot), slot)
}

// refused implements poster.
func (h *hub) refused(op *fi.Op) {
	slot := uint32(op.Context)
	switch {
	case kindOf(op.Context) == kindReceive:
		h.unposted = append(h.unposted, slot)
	default:
		h.returned(slot, op.Err())
	}
	h.backend.Alarms.Set(&h.retry, sendRetry)
}

// unstick posts again what was refused.
func (h *hub) unstick() {
	slots := h.unposted
	h.unposted = nil
	for _, slot := range slots {
		h.postReceive(slot)
	}
	h.sendLetters()
	h.backend.look(h) // the provider goes on when it is asked to
}

// abandon ends the hub of a listen endpoint that ends. It closes when its endpoints
// have ended; at once if it has not begun: a backend that closes in this turn, too,
// knows only those that have.
func (h *hub) abandon() {
	h.listener = nil
	if !h.begun {
		h.close()
		return
	}
	h.enqueue()
}

// closeLimit is how long an unused hub waits for its last letters.
const closeLimit = time.Second

// tryClose closes the hub of a listen endpoint that has ended, when its last
// endpoint has, and its last letters are sent.
func (h *hub) tryClose() {
	b := h.backend
	if h.listener != nil || h.dials != "" || len(h.users) > 0 || h.ep == nil {
		return
	}
	if h.letters.idle() {
		h.close()
		return
	}
	if !h.closing.IsSet() {
		h.closing.F = h.close
		b.Alarms.Set(&h.closing, closeLimit)
	}
}

// closeEP closes the endpoint of libfabric: after it nothing touches the memory of
// sends and receives.
func (h *hub) closeEP() {
	b := h.backend
	if h.begun {
		b.post() // nothing may be posted any more
		b.unwatch(&h.watch)
	}
	if h.ep != nil {
		if h.begun {
			h.endSockets()
		}
		h.check("close an endpoint", h.ep.Close())
		h.ep = nil
	}
}

// close closes what there is. The hub is not used any more.
func (h *hub) close() {
	h.closeEP()
	b := h.backend
	if h.begun {
		for _, a := range []*alarm.Alarm{&h.retry, &h.sweep, &h.closing} {
			b.Alarms.Cancel(a)
		}
		b.forgetHub(h)
	}
	for _, f := range h.kept {
		f()
	}
	h.kept = nil
	if h.av != nil {
		h.check("close an address vector", h.av.Close())
		h.av = nil
	}
	if h.cq != nil {
		h.check("close a completion queue", h.cq.Close())
		h.cq = nil
	}
	h.check("close letters", h.letters.close())
	if h.slots != nil {
		h.check("close receive buffers", h.slots.close())
		h.slots = nil
	}
	h.device.close()
}

// check logs an error that has no remedy.
func (h *hub) check(what string, err error) {
	if err != nil {
		h.backend.warn("cannot "+what, "addr", h.addr, "err", err)
	}
}
