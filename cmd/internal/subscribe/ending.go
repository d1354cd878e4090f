package subscribe

import (
	"sync"
	"sync/atomic"

	"tagbus/bus"
)

// ending is why a run ends: the first reason counts.
type ending struct {
	once   sync.Once
	done   chan struct{} // closed when there is a reason
	reason string
	err    error // nil if it is an orderly end
}

func newEnding() *ending { return &ending{done: make(chan struct{})} }

// end ends the run. Later calls do nothing. Blocks: never.
func (e *ending) end(reason string, err error) {
	e.once.Do(func() {
		e.reason, e.err = reason, err
		close(e.done)
	})
}

// presence follows which publishers there are. Loop only, but for the counters.
type presence struct {
	present  map[string]bool // by instance
	vanished atomic.Uint64   // publishers that went without goodbye
}

// see takes an event and tells whether with it the last publisher has gone for
// good.
func (p *presence) see(e bus.Event) (lastGone bool) {
	if e.Peer == nil {
		return false
	}
	switch e.Kind {
	case bus.Connected:
		if p.present == nil {
			p.present = make(map[string]bool)
		}
		p.present[e.Peer.Instance] = true
		return false
	case bus.Vanished:
		p.vanished.Add(1)
	case bus.Goodbye:
	default:
		return false
	}
	delete(p.present, e.Peer.Instance)
	return len(p.present) == 0
}
