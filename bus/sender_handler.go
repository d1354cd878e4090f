package bus

import (
	"net/netip"

	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/tags"
)

// contacts yields those of all outlets. Loop only.
func (s *Sender) contacts(yield func(*contact) bool) {
	for _, out := range s.outlets {
		if !yield(&out.contact) {
			return
		}
	}
}

// onDirectory follows the directory. Loop only.
func (s *Sender) onDirectory(e directory.Event) {
	if s.ended.Load() || e.Kind != directory.Problem && e.Entry.Role != directory.Receiver {
		return
	}
	out := s.outlets[e.Entry.Instance]
	if s.oversized.refuses(e, func(err error) { s.pub.event(Event{Kind: Problem, Err: err}) }) {
		return
	}
	switch e.Kind {
	case directory.Appeared, directory.Changed:
		if out == nil {
			out = newOutlet(s)
			s.outlets[e.Entry.Instance] = out
		}
		out.contact.entry, out.contact.listed = e.Entry, true
		out.used = s.pub.uses(e.Entry.Tags)
		out.consider()
	case directory.Gone:
		if out != nil {
			out.contact.listed = false
			out.unlisted()
		}
	case directory.Problem:
		s.pub.event(Event{Kind: Problem, Err: e.Err})
	}
}

// use has the receiver of a tag connected to that is used for the first time.
// Publisher.mu is held.
func (s *Sender) use(tag tags.Tag) {
	if s.using = append(s.using, tag); len(s.using) == 1 {
		s.pub.loop.Post(s.wantUsed)
	}
}

// wantUsed connects to the receivers of the tags that are used since the last call.
// Loop only.
func (s *Sender) wantUsed() {
	s.pub.mu.Lock()
	used := s.using
	s.using = nil
	s.pub.mu.Unlock()
	s.want(tags.Of(used...))
}

// want connects to the receivers of a set. Loop only.
func (s *Sender) want(set tags.Set) {
	for _, out := range s.outlets {
		if !out.used && out.contact.entry.Tags.Intersects(set) {
			out.used = true
			out.consider()
		}
	}
}

// senderHandler is a Sender as its backend sees it: a publisher that dials. Every
// method runs on the loop.
type senderHandler struct {
	publisherHandler
	sender *Sender
}

// OnConnectionEstablished implements netio.Handler.
func (h senderHandler) OnConnectionEstablished(ep netio.Endpoint) {
	ep.Context().(*outlet).established(ep)
}

// OnConnectionRefused implements netio.Handler.
func (h senderHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	h.sender.dialer.refused(addr, err)
}

// OnConnectionClosed implements netio.Handler.
func (h senderHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	l := ep.Context().(*link)
	h.closed(l, cause, func() {
		l.outlet.lost(cause)
		for _, other := range h.sender.outlets { // one may have waited for a tag to become free
			other.consider()
		}
	})
}

// OnData implements netio.Handler.
func (h senderHandler) OnData(ep netio.Endpoint, data []byte) {
	if l := ep.Context().(*link); l.state == linkHello {
		l.outlet.onHello(data)
		return
	}
	h.publisherHandler.OnData(ep, data)
}
