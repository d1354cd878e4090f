// SPDX-License-Identifier: Apache-2.0

package memnet

import (
	"slices"
	"unsafe"

	"tagbus/netio"
)

// SendBuffer implements netio.Endpoint. It counts as outstanding, but that of a
// buffer of e's own is never refused for it: their number is the limit.
func (e *endpoint) SendBuffer(buf *netio.Buffer) error {
	e.b.checkThread("SendBuffer")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	switch {
	case e.isClosed():
		return netio.ErrClosed
	case e.buffers == nil || !buf.MarkSent(e.buffers.pool):
		return netio.ErrForeignBuffer
	case len(buf.Bytes()) == 0:
		buf.UnmarkSent()
		return netio.ErrEmptyMessage
	case e.buffers.shared && e.full():
		buf.UnmarkSent()
		e.refusedSends++
		return netio.ErrNoResources
	}
	s := newSend(buf.Key(), [][]byte{buf.Bytes()}, len(buf.Bytes()))
	s.buf = buf
	e.accept(s)
	return nil
}

// Send implements netio.Endpoint.
func (e *endpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	e.b.checkThread("Send")
	if e.outsideRegion(data) {
		return netio.ErrOutsideRegion
	}
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	return e.send(true, false, key, header, data)
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	e.b.checkThread("SendCopy")
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	return e.send(!e.b.cfg.NoImmediate, true, key, header, data)
}

// SendDirect implements netio.Endpoint.
func (e *endpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (done bool, err error) {
	e.b.checkThread("SendDirect")
	if e.outsideRegion(data) {
		return false, netio.ErrOutsideRegion
	}
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	if !e.mayPush(header, data) {
		return false, e.send(!e.b.cfg.NoDirect, false, key, header, data)
	}
	size := messageBytes(header, data)
	s := newSend(key, piecesOf(header, data), size)
	if n := e.directBytes(size); n > 0 && e.out.push(s, n) > 0 {
		e.peer.b.schedule(e.peer)
	}
	if s.taken < size {
		e.accept(s)
		return false, nil
	}
	e.b.stats.MessagesSent++
	e.b.stats.BytesSent += uint64(size)
	e.b.stats.MessagesDirect++
	return true, nil
}

// mayPush reports whether nothing stands before a message, nor anything in its way. It
// needs the network's mutex.
func (e *endpoint) mayPush(header []byte, data [][]byte) bool {
	size := messageBytes(header, data)
	return !e.b.cfg.NoDirect && e.announced && !e.stopped() && !e.peer.ended && len(e.sends) == 0 &&
		len(header) <= netio.MaxHeaderBytes && size > 0 && size <= maxMessageBytes
}

// directBytes returns how much of a message SendDirect takes.
func (e *endpoint) directBytes(size int) int {
	if f := e.b.cfg.Direct; f != nil {
		return min(f(size), size)
	}
	return size
}

// outsideRegion reports whether data may not be sent from where it is.
func (e *endpoint) outsideRegion(data [][]byte) bool {
	return e.b.cfg.RegionOnly && slices.ContainsFunc(data, func(piece []byte) bool { return outside(piece, e.params.ZeroCopy.Region) })
}

// outside reports whether a piece of memory, if it is any, does not lie in region.
func outside(piece, region []byte) bool {
	begin, end := uintptr(unsafe.Pointer(unsafe.SliceData(region))), uintptr(len(region))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - begin // huge in front of it
	return len(piece) > 0 && (at >= end || uintptr(len(piece)) > end-at)
}

// send needs the network's mutex.
func (e *endpoint) send(supported, copied bool, key netio.Key, header []byte, data [][]byte) error {
	size := messageBytes(header, data)
	switch {
	case e.isClosed():
		return netio.ErrClosed
	case !supported:
		return netio.ErrNotSupported
	case len(header) > netio.MaxHeaderBytes:
		return netio.ErrHeaderTooLarge
	case size == 0:
		return netio.ErrEmptyMessage
	case size > maxMessageBytes:
		return netio.ErrTooLarge
	case e.full():
		e.refusedSends++
		return netio.ErrNoResources
	}
	if copied {
		data = slices.Clone(data)
		for i, piece := range data {
			data[i] = slices.Clone(piece)
		}
	}
	e.accept(newSend(key, piecesOf(header, data), size))
	return nil
}

func messageBytes(header []byte, data [][]byte) int {
	size := len(header)
	for _, piece := range data {
		size += len(piece)
	}
	return size
}

// piecesOf returns a message in one slice: the header and the slice of pieces are the
// caller's again when a send returns.
func piecesOf(header []byte, data [][]byte) [][]byte {
	return append([][]byte{slices.Clone(header)}, data...)
}

// full reports whether as many sends are outstanding as may be. It needs the
// network's mutex.
func (e *endpoint) full() bool { return len(e.sends) >= e.params.ZeroCopy.Outstanding }

// maxMessageBytes is the largest limit that Params allow, so that no peer can
// receive more.
const maxMessageBytes = 1<<31 - 1

// accept needs the network's mutex.
func (e *endpoint) accept(s *send) {
	e.sends = append(e.sends, s)
	e.mostSends = max(e.mostSends, len(e.sends))
	e.b.schedule(e)
}
