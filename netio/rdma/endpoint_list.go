//go:build libfabric && cgo

package rdma

// endpointList is a list of endpoints, the oldest first.
type endpointList struct{ first, last *endpoint }

func (l *endpointList) add(e *endpoint) {
	e.prev = l.last
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

func (l *endpointList) remove(e *endpoint) {
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.next, e.prev = nil, nil
}
