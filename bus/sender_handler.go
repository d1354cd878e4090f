package bus

import (
	"net/netip"

	"tagbus/netio"
	"tagbus/tags"
)

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
	publisher publisherHandler
	sender    *Sender
}

// OnConnectionEstablished implements netio.Handler.
func (h senderHandler) OnConnectionEstablished(ep netio.Endpoint) {
	ep.Context().(*outlet).established(ep)
}

// OnConnectionRefused implements netio.Handler.
func (h senderHandler) OnConnectionRefused(addr netip.AddrPort, err error) {
	h.sender.dialer.Refused(addr, err)
}

// OnConnectionClosed implements netio.Handler.
func (h senderHandler) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, cause error) {
	l := ep.Context().(*link)
	l.pub.closed(l, cause, func() {
		h.sender.dialed[l].lost(cause)
		for _, other := range h.sender.outlets { // one may have waited for a tag to become free
			other.consider()
		}
	})
}

// OnData implements netio.Handler.
func (h senderHandler) OnData(ep netio.Endpoint, data []byte) {
	if l := ep.Context().(*link); l.state == linkHello {
		h.sender.dialed[l].onHello(data)
		return
	}
	h.publisher.OnData(ep, data)
}

// OnSendCompleted implements netio.Handler.
func (h senderHandler) OnSendCompleted(c netio.Completion) { h.publisher.OnSendCompleted(c) }

// OnSendReady implements netio.Handler.
func (h senderHandler) OnSendReady(ep netio.Endpoint) { h.publisher.OnSendReady(ep) }
