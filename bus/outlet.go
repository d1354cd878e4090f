package bus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// outlet is a sender's side of one receiver: an entry of the directory and, once
// the sender uses one of its tags, the connection to it. The connection is a link
// as publishers have, but for who has dialed.
//
// Everything here runs on the loop.
type outlet struct {
	contact
	sender  *Sender
	link    *link
	used    bool   // one of its tags has been used
	alarmed string // about another receiver of the same tags
	missing bool   // its connection was lost: it may be dead, and its entry stale
}

func newOutlet(s *Sender) *outlet {
	out := &outlet{sender: s}
	s.dialer.prepare(&out.contact, out)
	return out
}

// params implements contactUser.
func (out *outlet) params() netio.Params {
	p := out.sender.pub.params()
	p.Context = out
	return p
}

// wanted implements contactUser.
func (out *outlet) wanted() bool {
	return out.listed && (!out.sender.ended.Load() || out.sender.pub.mayReturn(out.entry.Instance)) && (out.used || out.sender.wants.Intersects(out.entry.Tags))
}

// consider implements contactUser.
func (out *outlet) consider() {
	if out.state != contactIdle || !out.wanted() || !out.speakable() {
		return
	}
	p := out.sender.pub
	p.mu.Lock()
	duplicate := p.duplicate(nil, out.entry.Tags)
	p.mu.Unlock()
	if duplicate != nil && !out.missing { // else we see what it says
		duplicate.Second = out.describe()
		out.report(duplicate)
		return // until the other one goes
	}
	out.dial()
}

// unlisted implements contactUser: a receiver that is neither in the directory
// nor connected is forgotten.
func (out *outlet) unlisted() {
	if out.listed || out.pending() {
		return
	}
	out.after(0)
	out.state = contactIdle
	delete(out.sender.outlets, out.entry.Instance)
}

// tried implements contactUser.
func (*outlet) tried() {}

// fail implements contactUser.
func (out *outlet) fail(err error) {
	if out.link.fault == nil {
		out.link.fault = err
	}
	_ = out.ep.Close()
}

// speakable tells whether this program can talk to the receiver, and reports it
// once if not.
func (out *outlet) speakable() bool {
	p := out.sender.pub
	var err error
	if have := p.backend.Name(); out.entry.Backend != have {
		err = &BackendError{out.entry.Role, out.entry.Backend, have}
	} else if need := frameBytes(p.cfg.PageBytes, p.cfg.MaxMessageBytes); need > out.entry.MaxMessageBytes {
		err = fmt.Errorf("bus: sender sends up to %d bytes at once, receiver takes %d: raise ReceiverConfig.MaxMessageBytes", need, out.entry.MaxMessageBytes)
	}
	if err != nil {
		out.reportRefusal(err)
	}
	return err == nil
}

// established says hello.
func (out *outlet) established(ep netio.Endpoint) {
	out.contact.established(ep)
	p := out.sender.pub
	l := p.newLink(ep)
	l.outlet, out.link = out, l
	hello, err := subscription.AppendHello(nil, subscription.Hello{
		Instance: p.instance, Expect: out.entry.Instance, Role: subscription.RoleSender,
		Name: p.cfg.Name, Host: p.host, PID: os.Getpid(), MaxMessageBytes: subscription.MaxControlBytes, BeatMillis: p.heart.millis(),
	})
	if err != nil {
		out.fail(err)
		return
	}
	l.sendControl(&l.control, item{control: hello})
	out.after(p.cfg.HelloTimeout)
}

// onHello takes the receiver's first message: its hello, or why it does not want
// us.
func (out *outlet) onHello(data []byte) {
	h, err := answerOf(data)
	switch {
	case err != nil:
	case h.Instance != out.entry.Instance:
		err = ErrStaleEntry
	case h.Role != subscription.RoleReceiver:
		err = protocolError("it is no receiver")
	default:
		err = out.sender.pub.admit(out.link, h)
	}
	if err != nil {
		out.fail(err)
		return
	}
	out.link.peer = peerOf(h, out.ep)
	out.link.admitted(h.BeatMillis)
	out.greeted()
	out.link.event(Event{Kind: Connected, Peer: out.link.peer})
}

// lost cleans up after a connection, and goes back to dialing.
func (out *outlet) lost(cause error) {
	wasReady := out.closed()
	if cause == nil {
		cause = out.link.fault
	}
	expelled := errors.As(out.link.fault, new(*DuplicateError))
	out.link = nil
	switch {
	case out.sender.pub.closer.begun.Load():
	case wasReady:
		out.missing = !expelled
		out.retry()
	default: // it never worked: try the next address
		if cause == nil {
			cause = io.EOF
		}
		out.refused(cause)
	}
}

// expel refuses a subscription to a tag that another receiver owns, and ends the
// connection: the owner may go, and then this one is dialed again.
func (out *outlet) expel(id uint64, duplicate *DuplicateError) {
	out.report(duplicate)
	b, err := subscription.Append(nil, refusal(id, duplicate))
	if err != nil {
		out.fail(err)
		return
	}
	l := out.link
	l.state, l.fault, l.pulse.last = linkLeaving, duplicate, time.Now()
	l.sendControl(&l.control, item{control: b, last: true})
}

// report raises the alarm about two receivers of a tag, once for all tries that
// end the same way.
func (out *outlet) report(duplicate *DuplicateError) {
	if text := duplicate.Error(); text != out.alarmed {
		out.alarmed = text
		out.sender.pub.event(Event{Kind: Duplicate, Peer: duplicate.Second, Other: duplicate.First, Tags: duplicate.Tags, Err: duplicate})
	}
}

// otherOwner returns the tags of a set, which a receiver of a sender asks for, that
// another receiver has. mu is held.
func (p *Publisher) otherOwner(l *link, set tags.Set) *DuplicateError {
	if p.sender == nil {
		return nil
	}
	duplicate := p.duplicate(l, set)
	if duplicate != nil {
		duplicate.Second = l.peer
	}
	return duplicate
}

// oneLane refuses a subscription to tags that the same receiver of a sender has
// in another lane: a message is sent once. mu is held.
func (p *Publisher) oneLane(l *link, w *wish) error {
	if p.sender == nil {
		return nil
	}
	for _, n := range l.lanes {
		if lane := w.request.Lane; n.number != lane && p.table.Overlaps(n.id, w.set) {
			return protocolError("a receiver subscribed to tags in lanes %d and %d", n.number, lane)
		}
	}
	return nil
}

// duplicate tells which receiver other than l has tags of a set. mu is held.
func (p *Publisher) duplicate(l *link, set tags.Set) *DuplicateError {
	for other := range p.links {
		if other == l {
			continue
		}
		for _, n := range other.lanes {
			if !p.table.Overlaps(n.id, set) {
				continue
			}
			has, both := p.table.Set(n.id), set
			if rest, err := set.Without(has); err == nil {
				both, _ = set.Without(rest) // simpler than the set, of which that was possible
			}
			return &DuplicateError{Tags: both, First: other.peer}
		}
	}
	return nil
}

// uses tells whether a tag of a set has been used.
func (p *Publisher) uses(set tags.Set) (used bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tags.all(func(e *tagEntry[tagState]) { used = used || set.Contains(e.tag) })
	return used
}

// nextChange returns a channel that is closed at the next change of a
// subscription.
func (p *Publisher) nextChange() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}
