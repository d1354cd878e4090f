//go:build libfabric && cgo

package rdma

import (
	"errors"
	"slices"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

const (
	receiveAlign = 64 // keeps two buffers from sharing a cache line

	// creditReceives are posted beside the window: so many empty messages can
	// be under way, as each stands for at least half of the window.
	creditReceives = 2

	// sharedWindow is the window of endpoints that share their buffers. Messages
	// that find none wait in the network, and those for a paused endpoint are
	// copied, so it may be larger than the number of buffers.
	sharedWindow = 16
)

// receivePool is a fixed number of receive buffers, in one piece of memory that
// is registered once: those of one endpoint, or shared by many. Each is posted,
// or holds a message.
type receivePool struct {
	mem    []byte
	stride int
	size   int // of a buffer
	count  int // of buffers
	mr     *fi.MR

	// Of shared buffers.
	backend *backend
	srx     *fi.SRX     // nil: they are an endpoint's own
	posted  int         // without those that are being posted
	thirsty []*endpoint // without credits, see look
	again   []uint32    // could not be posted
	retry   alarm
}

// newReceivePool returns count buffers of size bytes. Errors: the system's (no
// memory), and *fi.Error.
func newReceivePool(d *device, count, size int) (*receivePool, error) {
	p := &receivePool{
		backend: d.backend, size: size, count: count,
		stride: (size + receiveAlign - 1) / receiveAlign * receiveAlign,
	}
	var err error
	if p.mem, err = netio.AllocRegion(p.stride * count); err != nil {
		return nil, err
	}
	if p.mr, err = d.domain.Register(p.mem); err != nil {
		return nil, errors.Join(err, netio.FreeRegion(p.mem))
	}
	return p, nil
}

// newSharedReceive returns buffers that the endpoints of a device share, and
// posts them.
func newSharedReceive(d *device, i *fi.Info, count, size int) (*receivePool, error) {
	if d.iwarp {
		return nil, errSharedOnIWARP
	}
	p, err := newReceivePool(d, count, size)
	if err != nil {
		return nil, err
	}
	if p.srx, err = d.domain.OpenSRX(i, count); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.retry.f = p.unstick
	return p, nil
}

// window returns what an endpoint may have under way to it.
func (p *receivePool) window() int {
	if p.srx == nil {
		return p.count - creditReceives
	}
	return sharedWindow
}

// message returns the first n bytes of a buffer.
func (p *receivePool) message(slot uint32, n int) []byte {
	at := int(slot) * p.stride
	return p.mem[at : at+n : at+n]
}

// fillOp makes op the request to receive into a buffer.
func (p *receivePool) fillOp(op *fi.Op, to, context uint64, slot uint32) {
	op.EP, op.Context, op.Flags, op.Kind, op.Count = to, context, fi.Completion, fi.Recv, 1
	op.Pieces[0] = fi.Piece{Base: uint64(address(p.mem)) + uint64(int(slot)*p.stride), Len: uint64(p.size), Desc: p.mr.Desc()}
}

// postAll posts all buffers of a shared pool.
func (p *receivePool) postAll() {
	for slot := range p.count {
		p.post(uint32(slot))
	}
}

// post posts a buffer of a shared pool. An endpoint that waits for credits may
// have been sent them, and no buffer have been there: nothing would tell of it
// when there is one again, as an empty message has no bytes that could come.
func (p *receivePool) post(slot uint32) {
	p.fillOp(p.backend.op(p), p.srx.Handle(), contextOf(kindReceive, 0, slot), slot)
	for _, e := range p.thirsty {
		p.backend.look(e)
	}
}

// thirst has e looked at whenever a buffer is posted, or no longer.
func (p *receivePool) thirst(e *endpoint, thirsty bool) {
	i := slices.Index(p.thirsty, e)
	switch {
	case thirsty && i < 0:
		p.thirsty = append(p.thirsty, e)
	case !thirsty && i >= 0:
		p.thirsty = slices.Delete(p.thirsty, i, i+1)
	}
}

// refused implements poster.
func (p *receivePool) refused(op *fi.Op) {
	p.again = append(p.again, uint32(op.Context))
	p.backend.alarms.set(&p.retry, sendRetry)
}

func (p *receivePool) unstick() {
	slots := p.again
	p.again = nil
	for _, slot := range slots {
		p.post(slot)
	}
}

// close releases the memory. Of a shared pool all endpoints are closed, of an
// endpoint's own pool that one.
func (p *receivePool) close() error {
	p.backend.alarms.cancel(&p.retry)
	var err error
	if p.srx != nil {
		p.backend.post() // nothing may be posted any more
		err = p.srx.Close()
	}
	return errors.Join(err, p.mr.Close(), netio.FreeRegion(p.mem))
}
