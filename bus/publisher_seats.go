package bus

import (
	"container/list"
	"fmt"
	"net/netip"
)

// seats decides which connections may be subscribers when there are too many. A
// stranger can open any number of connections. So the oldest ones that ask for nothing
// give way, and each address has only a share. Loop only.
type seats struct {
	guests list.List          // of *link that are no subscribers, the oldest first
	idle   list.List          // of *link that are subscribers without subscription, the same
	hosts  map[netip.Addr]int // subscribers, by address
	taken  int                // subscribers that have not been told to give way
}

// seat is what seats knows of a connection.
type seat struct {
	guest, idle *list.Element
	taken       bool
}

// host returns the address that a connection comes from.
func (l *link) host() netip.Addr { return l.ep.Remote().Addr().Unmap() }

// greet makes a new connection a guest.
func (p *Publisher) greet(l *link) {
	s := &p.seats
	l.seat.guest = s.guests.PushBack(l)
	most := max(minGuests, p.cfg.MaxSubscribers)
	if s.guests.Len() <= most {
		return
	}
	oldest := s.guests.Front().Value.(*link)
	p.stand(oldest)
	oldest.deadline.Met()
	if oldest.state == linkHello {
		p.event(Event{Kind: Refused, Peer: oldest.peer, Err: fmt.Errorf("%w: %d have not said hello", ErrGaveWay, most)})
	}
	_ = oldest.ep.Close()
}

// stand takes a connection out of the lists.
func (p *Publisher) stand(l *link) {
	if l.seat.guest != nil {
		p.seats.guests.Remove(l.seat.guest)
	}
	if l.seat.idle != nil {
		p.seats.idle.Remove(l.seat.idle)
	}
	l.seat.guest, l.seat.idle = nil, nil
}

// makeRoom takes a place for a subscriber. If all are taken, a connection without
// subscription gives way. It is one of the same address if that has its share,
// otherwise of the address that has most of them. mu is held.
//
// Errors: ErrTooManySubscribers, wrapped.
func (p *Publisher) makeRoom(l *link, instance string) error {
	s, host := &p.seats, l.host()
	if old := p.newest[instance]; old != nil {
		p.vacate(old) // it ends in a moment
	}
	var way *link
	switch {
	case s.hosts[host] >= p.cfg.MaxSubscribersPerHost && !host.IsLoopback():
		if way = s.oldestIdle(host); way == nil {
			return fmt.Errorf("%w: %d from %v, the most it allows of one host: raise PublisherConfig.MaxSubscribersPerHost",
				ErrTooManySubscribers, s.hosts[host], host)
		}
	case s.taken >= p.cfg.MaxSubscribers:
		if way = s.mostIdle(); way == nil {
			return fmt.Errorf("%w: %d, the most it allows: raise PublisherConfig.MaxSubscribers", ErrTooManySubscribers, s.taken)
		}
	}
	if way != nil {
		p.vacate(way)
		p.stand(way)
		p.loop.Post(func() { way.end(ErrGaveWay) }) // no lock is held then
	}
	if s.hosts == nil {
		s.hosts = make(map[netip.Addr]int)
	}
	s.hosts[host]++
	s.taken++
	l.seat.taken = true
	return nil
}

// vacate gives back the place of a subscriber.
func (p *Publisher) vacate(l *link) {
	if !l.seat.taken {
		return
	}
	l.seat.taken = false
	s, host := &p.seats, l.host()
	s.taken--
	if s.hosts[host]--; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
}

// oldestIdle returns the connection of a host that is without subscription for longest,
// or nil.
func (s *seats) oldestIdle(host netip.Addr) *link {
	for e := s.idle.Front(); e != nil; e = e.Next() {
		if l := e.Value.(*link); l.host() == host && l.jobs.Len() == 0 { // otherwise it has asked for something
			return l
		}
	}
	return nil
}

// mostIdle returns the oldest idle connection of the host that has most of them, or
// nil.
func (s *seats) mostIdle() *link {
	counts := make(map[netip.Addr]int)
	var most netip.Addr
	for e := s.idle.Front(); e != nil; e = e.Next() {
		host := e.Value.(*link).host()
		if counts[host]++; counts[host] > counts[most] {
			most = host
		}
	}
	return s.oldestIdle(most)
}

// seated begins to wait for the first subscription of a new subscriber.
func (p *Publisher) seated(l *link) {
	p.stand(l)
	l.seat.idle = p.seats.idle.PushBack(l)
	l.awaitSubscription()
}

// settle notes after each change whether a subscriber has a subscription. After the end
// of its last one it has some time to leave or to ask for another. One whose request
// was refused may stay, since it would only come again.
func (p *Publisher) settle(l *link) {
	switch {
	case l.dialed || l.fault != nil:
	case l.out.Subscriptions() > 0:
		if l.seat.idle != nil {
			p.seats.idle.Remove(l.seat.idle)
			l.seat.idle = nil
		}
	case l.seat.idle == nil: // its last one has ended
		l.seat.idle = p.seats.idle.PushBack(l)
		l.awaitSubscription()
	}
}

// awaitSubscription limits the time that a connection may have no subscription, or an
// incomplete group.
func (l *link) awaitSubscription() {
	l.deadline.Await(&l.pub.alarms, l.pub.cfg.SubscribeTimeout, l.subscriptionMissed)
}

// subscriptionMissed ends a connection after too long without a subscription, or with
// an incomplete group.
func (l *link) subscriptionMissed() {
	if l.incomplete.place != nil {
		l.pub.dropGroup(l)
		l.end(ErrGroupTimeout)
		return
	}
	l.end(ErrNoSubscription)
}
