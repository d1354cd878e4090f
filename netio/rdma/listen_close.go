// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"slices"

	"tagbus/netio/rdma/internal/fi"
)

// end stops listening, and closes what was accepted.
func (l *listenEndpoint) end() {
	l.stop()
	l.backend.siblings.closeAccepted(l)
}

// stop stops listening.
func (l *listenEndpoint) stop() {
	b := l.backend
	l.stopped = true
	b.Alarms.Cancel(&l.absence.again)
	l.Shut()
	if i := slices.Index(b.listeners, l); i >= 0 {
		b.listeners = slices.Delete(b.listeners, i, i+1)
	}
	if l.hub != nil {
		l.hub.abandon()
	} else {
		l.closePEP()
	}
	b.Unlisten(l.Address)
	l.releasePools()
	b.devices.tidy()
}

// releasePools releases the buffers that the endpoints have shared, with the last
// of them.
func (l *listenEndpoint) releasePools() {
	for d, p := range l.receive {
		if len(p.users) > 0 || !l.stopped && !d.stale {
			continue
		}
		if err := p.close(); err != nil {
			l.backend.warn("cannot close receive buffers", "addr", l.Address, "err", err)
		}
		delete(l.receive, d)
	}
}

// closePEP refuses the requests that are not answered, and closes what there is of libfabric.
func (l *listenEndpoint) closePEP() {
	l.answering.Lock()
	defer l.answering.Unlock()
	l.backend.siblings.takeBack(l)
	l.rejectRest()
	l.closeObjects()
}

// closeObjects closes what there is of libfabric.
func (l *listenEndpoint) closeObjects() {
	if l.pep != nil {
		if err := l.pep.Close(); err != nil {
			l.backend.warn("cannot close a listen endpoint", "addr", l.Address, "err", err)
		}
	}
	if err := l.events.close(); err != nil {
		l.backend.warn("cannot close an event queue", "addr", l.Address, "err", err)
	}
	if l.device != nil {
		l.backend.devices.release(l.device)
	}
	l.pep, l.device = nil, nil
}

// rejectRounds bounds rejectRest, should peers connect faster than it reads.
const rejectRounds = 100

// rejectRest refuses the peers that are connecting. The provider tcp up to libfabric
// 1.17 forgets them when its passive endpoint is closed: their sockets would stay
// open for ever.
func (l *listenEndpoint) rejectRest() {
	if l.events.eq == nil {
		return // its device was removed
	}
	for range rejectRounds {
		events := l.events.read()
		for i := range events {
			l.onEvent(&events[i]) // refuses, as l is closed
		}
		if len(events) == 0 && (l.backend.config.Provider != ProviderTCP || !hasOrphans(l.events.eq.FD())) {
			return
		}
	}
}

// hasOrphans reports whether sockets wait in the event queue of a passive endpoint
// of the provider tcp for the request of the other side, and ends them: then the
// next read forgets them, or has their request after all.
func hasOrphans(fd int) bool {
	if major, minor := fi.Version(); major > 1 || minor > 17 {
		return false // it is another implementation
	}
	found := false
	for _, socket := range watchedBy(fd) {
		if isOrphan(socket) {
			endSocket(socket)
			found = true
		}
	}
	return found
}
