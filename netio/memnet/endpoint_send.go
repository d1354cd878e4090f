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
	if e.b.cfg.RegionOnly && slices.ContainsFunc(data, func(piece []byte) bool { return outside(piece, e.params.ZeroCopy.Region) }) {
		return netio.ErrOutsideRegion
	}
	return e.send(true, false, key, header, data)
}

// SendCopy implements netio.Endpoint.
func (e *endpoint) SendCopy(key netio.Key, header []byte, data ...[]byte) error {
	e.b.checkThread("SendCopy")
	return e.send(!e.b.cfg.NoImmediate, true, key, header, data)
}

// outside reports whether a piece of memory, if it is any, does not lie in region.
func outside(piece, region []byte) bool {
	begin, end := uintptr(unsafe.Pointer(unsafe.SliceData(region))), uintptr(len(region))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(piece))) - begin // huge in front of it
	return len(piece) > 0 && (at >= end || uintptr(len(piece)) > end-at)
}

func (e *endpoint) send(supported, copied bool, key netio.Key, header []byte, data [][]byte) error {
	e.b.net.mu.Lock()
	defer e.b.net.mu.Unlock()
	size := len(header)
	for _, piece := range data {
		size += len(piece)
	}
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
	// The header and the slice of pieces are the caller's on return, and with
	// copied the pieces too.
	pieces := make([][]byte, 0, 1+len(data))
	pieces = append(pieces, append([]byte(nil), header...))
	for _, piece := range data {
		if copied {
			piece = append([]byte(nil), piece...)
		}
		pieces = append(pieces, piece)
	}
	e.accept(newSend(key, pieces, size))
	return nil
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
