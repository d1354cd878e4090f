// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"bytes"
	"net/netip"
	"slices"
	"sync/atomic"

	"tagbus/netio"
)

// worker is one of the backends. As their netio.Handler it runs on the loop of its
// own backend.
type worker struct {
	spread  *Backend
	backend netio.Backend
	load    atomic.Int64 // endpoints, from their opening until their end reached the handler
	gone    atomic.Bool  // its loop has ended
}

// dialed is the context of an endpoint that was opened from here.
type dialed struct {
	addr    netip.AddrPort
	context any
}

// OnConnectionEstablished implements netio.Handler.
func (w *worker) OnConnectionEstablished(inner netio.Endpoint) {
	e := &endpoint{Inner: inner.(Inner), worker: w, context: inner.Context()}
	if d, ok := e.context.(*dialed); ok {
		e.dialed, e.context = d, d.context
	} else {
		w.load.Add(1)
	}
	inner.SetContext(e)
	w.spread.push(event{kind: established, endpoint: e})
}

// OnConnectionRefused implements netio.Handler.
func (w *worker) OnConnectionRefused(addr netip.AddrPort, err error) {
	w.load.Add(-1)
	w.spread.push(event{kind: refused, end: &ending{addr: addr, err: err}})
}

// OnConnectionClosed implements netio.Handler.
func (w *worker) OnConnectionClosed(inner netio.Endpoint, keys []netio.Key, cause error) {
	w.spread.push(event{kind: closed, endpoint: of(inner), end: &ending{keys: slices.Clone(keys), err: cause}})
}

// OnData implements netio.Handler.
func (w *worker) OnData(inner netio.Endpoint, data []byte) {
	e := of(inner)
	kept, err := inner.Retain()
	if err != nil { // its memory is needed for what comes next
		data, kept = bytes.Clone(data), nil
	}
	e.ahead(cost(data))
	w.spread.push(event{kind: received, endpoint: e, data: data, kept: kept})
}

// OnSendCompleted implements netio.Handler.
func (w *worker) OnSendCompleted(c netio.Completion) {
	w.spread.push(event{kind: completed, endpoint: of(c.Endpoint), key: c.Key})
}

// OnSendReady implements netio.Handler.
func (w *worker) OnSendReady(inner netio.Endpoint) {
	w.spread.push(event{kind: ready, endpoint: of(inner)})
}

// aheadLimit returns the share of aheadBytes that each of its endpoints has.
func (w *worker) aheadLimit() int64 {
	endpoints := w.load.Load() * int64(len(w.spread.workers)) // they are spread evenly
	return min(mostAhead, max(leastAhead, aheadBytes/max(1, endpoints)))
}

// of returns the endpoint that belongs to one of a worker.
func of(inner netio.Endpoint) *endpoint { return inner.Context().(*endpoint) }
