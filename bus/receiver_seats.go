package bus

import (
	"fmt"
	"net/netip"
)

// greet notes a new connection. If there are too many peers without hello, or with an
// unread refusal, the oldest one gives way.
func (r *Receiver) greet(g *guest) {
	g.place = r.guests.PushBack(g)
	most := max(minGuests, r.cfg.MaxSenders)
	if r.guests.Len() <= most {
		return
	}
	oldest := r.guests.Front().Value.(*guest)
	r.stand(oldest)
	oldest.deadline.Met()
	if oldest.leaving {
		_ = oldest.ep.Close() // the reason was sent to it, and it did not read that
		return
	}
	r.drop(oldest, fmt.Errorf("%w: %d have not said hello", ErrGaveWay, most))
}

// stand takes a connection off the list of guests.
func (r *Receiver) stand(g *guest) {
	if g.place != nil {
		r.guests.Remove(g.place)
		g.place = nil
	}
}

// makeRoom makes room for a sender at an address, as Publisher.makeRoom does for a
// subscriber: a sender that has sent nothing gives way. It looks at all senders only
// when there may be too many.
//
// Errors: ErrTooManySenders, wrapped.
func (r *Receiver) makeRoom(host netip.Addr) error {
	most, share := r.cfg.MaxSenders, r.cfg.MaxSendersPerHost
	if n := int(r.sub.counters.publishers.Load()); n < most && n < share {
		return nil
	}
	all, ofHost := 0, 0
	silent := make(map[netip.Addr]int)     // senders that have sent nothing
	oldest := make(map[netip.Addr]*source) // of these
	for _, src := range r.sub.sources {
		if src.contact.ep == nil || src.fault != nil {
			continue
		}
		at := src.contact.ep.Remote().Addr().Unmap()
		all++
		if at == host {
			ofHost++
		}
		if src.spoken {
			continue
		}
		silent[at]++
		if o := oldest[at]; o == nil || src.contact.Since().Before(o.contact.Since()) {
			oldest[at] = src
		}
	}
	way := host
	switch {
	case ofHost >= share && !host.IsLoopback():
		if silent[host] == 0 {
			return fmt.Errorf("%w: %d from %v, the most it allows of one host: raise ReceiverConfig.MaxSendersPerHost", ErrTooManySenders, ofHost, host)
		}
	case all >= most:
		for at, n := range silent {
			if n > silent[way] {
				way = at
			}
		}
		if silent[way] == 0 {
			return fmt.Errorf("%w: %d, the most it allows: raise ReceiverConfig.MaxSenders", ErrTooManySenders, all)
		}
	default:
		return nil
	}
	oldest[way].fail(ErrGaveWay)
	return nil
}
