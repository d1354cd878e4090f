// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"slices"
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

const (
	receiveAlign = 64 // keeps two buffers from sharing a cache line

	// creditReceives are posted beside the window: so many empty messages can
	// be under way, as each stands for at least a quarter of the window.
	//
	// With halves the sender waits longer than the receiver needs: 64 KiB over
	// provider tcp reach 0.92 of the loop in C then, with quarters 0.96
	// (BenchmarkSend, medians of 9). Eighths give no more, and take more memory.
	creditReceives = 4

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
	loan   loan

	// Of shared buffers.
	backend *backend
	srx     *fi.SRX     // nil: they are an endpoint's own
	users   []*endpoint // that receive into them
	again   []uint32    // could not be posted
	retry   alarm.Alarm
	sweep   alarm.Alarm // reads the queues of all users
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
	if p.mr, err = d.registerMemory(p.mem); err != nil {
		return nil, errors.Join(err, netio.FreeRegion(p.mem))
	}
	return p, nil
}

// newSharedReceive returns buffers that the endpoints of a device share, and
// posts them.
func newSharedReceive(d *device, i *fi.Info, count, size int) (*receivePool, error) {
	if d.iwarp {
		return nil, ErrSharedOnIWARP
	}
	p, err := newReceivePool(d, count, size)
	if err != nil {
		return nil, err
	}
	if p.srx, err = d.domain.OpenSRX(i, count); err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.retry.F = p.unstick
	return p, nil
}

// window returns what an endpoint may have under way to it.
func (p *receivePool) window() int {
	if p.srx == nil {
		return p.count - creditReceives
	}
	return sharedWindow
}

// quantumOf returns how many messages are consumed for one empty message.
func quantumOf(window int) int { return (window + creditReceives - 1) / creditReceives }

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

// post posts a buffer of a shared pool.
func (p *receivePool) post(slot uint32) {
	p.fillOp(p.backend.op(p), p.srx.Handle(), contextOf(kindReceive, 0, slot), slot)
	if p.sweep.F != nil && !p.sweep.IsSet() {
		p.backend.Alarms.Set(&p.sweep, sweepTime)
	}
}

// sweepTime is how long a message may wait at most that has found no buffer, when
// there is one again.
const sweepTime = time.Millisecond

// join makes e receive into the buffers, until leave.
//
// On sockets (the providers tcp and net) libfabric does not report a message that
// finds no buffer, and forgets it until its queue is read: therefore all queues are
// read, now and then, when buffers were posted.
func (p *receivePool) join(e *endpoint) {
	p.users = append(p.users, e)
	if p.backend.config.Provider != ProviderVerbs {
		p.sweep.F = func() {
			for _, e := range p.users {
				p.backend.look(e)
			}
		}
	}
}

// leave undoes join.
func (p *receivePool) leave(e *endpoint) {
	if i := slices.Index(p.users, e); i >= 0 {
		p.users = slices.Delete(p.users, i, i+1)
	}
}

// refused implements poster.
func (p *receivePool) refused(op *fi.Op) {
	p.again = append(p.again, uint32(op.Context))
	p.backend.Alarms.Set(&p.retry, sendRetry)
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
	var err error
	if p.srx != nil {
		p.backend.post() // nothing may be posted any more; what is refused sets an alarm
		err = p.srx.Close()
	}
	p.backend.Alarms.Cancel(&p.retry)
	p.backend.Alarms.Cancel(&p.sweep)
	if err = errors.Join(err, p.mr.Close()); !p.loan.close() {
		return err
	}
	return errors.Join(err, p.free())
}

// free releases the memory, which is not used any more.
func (p *receivePool) free() error { return netio.FreeRegion(p.mem) }
