package bus

import (
	"time"

	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
)

// isDialed reports whether publishers dial this subscriber, as no directory lists them.
func (s *Subscriber) isDialed() bool { return s.absence > 0 }

// accept takes over a connection that a publisher has dialed, after its hello. The
// publisher's earlier connection, if any, has ended. Loop only.
func (s *Subscriber) accept(ep netio.Endpoint, h subscription.Hello) {
	src := s.sources[h.Instance]
	if src == nil {
		src = newSource(s)
		s.sources[h.Instance] = src
	}
	entry := directory.Entry{Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID}
	for sub := range s.subs.All {
		entry.Tags = entry.Tags.Union(sub.live) // it sends what we want
	}
	src.update(entry)
	src.contact.established(ep)
	src.fault, src.spoken = nil, false
	ep.SetContext(src)
	hello, err := s.helloTo("")
	if err != nil {
		src.fail(err)
		return
	}
	src.out.Push(hello)
	src.pump()
	src.ready(h.BeatMillis)
}

// await gives a publisher that has gone without goodbye some time to dial again. No
// directory shows when it is gone for good.
func (src *source) await() {
	src.contact.listed, src.contact.gone = false, time.Now()
	src.contact.state = contactIdle
	if src.requests.Owing() == 0 || src.contact.ended {
		src.unlisted()
		return
	}
	src.contact.state = contactWaiting
	src.contact.after(src.sub.absence)
	src.sub.forgetOldest()
}

// acknowledge answers a page that asks whether its last message was handled.
func (src *source) acknowledge(failed bool) {
	if src.fault != nil {
		return
	}
	rcv := src.receivedOf(src.reader.Lane, src.reader.Tag)
	if rcv == nil {
		return
	}
	src.send(&subscription.Ack{Tag: uint64(src.reader.Tag), Position: rcv.tally.Position, Failed: failed})
}
