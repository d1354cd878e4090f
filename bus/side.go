// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/announce"
	"tagbus/bus/internal/closer"
	"tagbus/bus/internal/contact"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/events"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/listen"
	"tagbus/bus/internal/listing"
	"tagbus/bus/internal/reception"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/ways"
	"tagbus/bus/internal/workqueue"
	"tagbus/bus/state"
	"tagbus/identity"
	"tagbus/internal/alarm"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// side is what a publisher and a subscriber have in common, as those of a sender and a
// receiver do: the backend, what runs on its loop, and what it says of itself.
type side struct {
	common  *Common
	own     contact.Own
	role    string    // in its hello
	most    int       // bytes that it receives at once, as its hello says
	limited bool      // so are the rights of its peers, which it tells them
	opened  time.Time // does not change
	backend netio.Backend
	loop    netio.Loop
	closer  *closer.Closer
	listing atomic.Pointer[listing.Listing] // nil: it is not listed
	entry   *announce.Entry                 // nil: it has none, as it does not listen
	listens netio.ListenEndpoint            // by the last backend, the first one if it has several; nil before

	// Loop only.
	alarms alarm.Clock // of all that has its time
	heart  heartbeat.Clock
	work   workqueue.Queue
	events *events.Queue[Event]
	door   door.Door       // which peers may come in, and what they may do
	desk   *reception.Desk // of connections that others have dialed

	strangers, silent atomic.Uint64 // connections
	broken            snapshot.Endings
	trouble           announce.Trouble // of the entry, or of that among the clients
}

// init makes a side that has no backend yet.
func (s *side) init(cfg *Common, role string) {
	s.common, s.role, s.opened, s.closer, s.door = cfg, role, time.Now(), closer.New(), doorTo(cfg.Access)
	s.own.Instance = nuid.Next()
	s.own.Host, _ = os.Hostname() // only for people
}

// open opens the backend, which reports to h.
func (s *side) open(open netio.Opener, h netio.Handler) (err error) {
	if s.backend, err = open(h); err != nil {
		return err
	}
	s.loop, s.own.Backends = s.backend.Loop(), ways.Of(s.backend)
	s.work = workqueue.New(s.loop.Post)
	s.events = events.New(s.loop.Post,
		func(e Event) { s.closer.Call(func() { s.common.OnEvent(e) }) },
		func(dropped uint64) Event { return Event{Kind: Problem, Err: &EventsDroppedError{Events: dropped}} })
	return nil
}

// begin begins what a side does by itself.
//
//   - review: looks at all peers again, after a change of what is allowed.
//   - tick: is the tick of its heart.
func (s *side) begin(review func(), tick func(now time.Time, late time.Duration)) error {
	s.door.Open(s.loop.Post, &s.alarms, review)
	if err := alarm.Open(&s.alarms, s.loop.NewTimer); err != nil {
		return err
	}
	s.heart.Start(&s.alarms, s.common.HeartbeatInterval, s.common.HeartbeatTimeout, tick)
	return nil
}

// receive makes the desk, and the entry that leads to it.
//
//   - cfg: without what is the same for all sides.
func (s *side) receive(cfg reception.Config) {
	cfg.Post, cfg.Alarms, cfg.Door, cfg.Instance, cfg.Patience = s.loop.Post, &s.alarms, &s.door, s.own.Instance, helloTimeout
	cfg.Missed, cfg.GaveWay, cfg.Stale, cfg.Protocol = ErrHelloTimeout, ErrGaveWay, ErrStaleEntry, ErrProtocol
	cfg.Most = max(minGuests, cfg.Most)
	cfg.Hello = func() ([]byte, error) { return s.helloTo("", 0) }
	cfg.Refusal = func(reason error) ([]byte, error) { return subscription.Append(nil, refusal(0, reason)) }
	cfg.Refused = func(g *reception.Guest, reason error) {
		if errors.Is(reason, subscription.ErrMagic) {
			s.strangers.Add(1)
		}
		if e, tell := s.refused(reason, peerOf(g.Hello, g.Ep), g.Who.Identity()); tell {
			s.event(e)
		}
	}
	cfg.Broken = func(g *reception.Guest, err error) {
		s.event(Event{Kind: Problem, Peer: peerOf(g.Hello, g.Ep), Err: fmt.Errorf("%w: %w", ErrProtocol, err)})
	}
	s.desk, s.entry = reception.New(cfg), new(announce.Entry)
}

// listen listens by all backends, and announces that in dir.
//
//   - entry: what is the role's own.
//   - Errors: ErrInvalidConfig, wrapped; *netio.OpError; those of announce.Entry.Start.
func (s *side) listen(dir directory.Directory, cfg *Listening, params netio.Params, entry directory.Entry) error {
	places := listen.Places{Default: listen.Place{Listen: cfg.Listen, Advertise: cfg.Advertise}}
	for _, at := range cfg.Also {
		places.Also = append(places.Also, listen.Place(at))
	}
	listeners, at, err := places.Open(s.own.Backends, params, func(backend string, err error) {
		s.loop.Post(func() { s.event(Event{Kind: Problem, Err: &WayError{backend, err}}) })
	})
	if errors.As(err, new(*listen.BackendError)) {
		err = fmt.Errorf("%w: %w", ErrInvalidConfig, err)
	}
	if err != nil {
		return err
	}
	s.listens = at
	entry = s.described(entry)
	entry.Backend = netio.Kind(s.own.Backends.Last().Name())
	return s.entry.Start(dir, announce.Instance{
		Reach: advertise.Reach{Listeners: listeners, Monitor: s.common.Monitor}, Host: cfg.host, Trouble: &s.trouble, Tell: s.onEntry,
	}, entry)
}

// addr returns the address at which it listens.
func (s *side) addr() netip.AddrPort { return s.listens.Addr() }

// list lists this side among the clients of dir.
//
//   - wanted: returns its tags; ok is false at its end. Threads: any.
func (s *side) list(dir directory.Directory, role directory.Role, wanted func() (set tags.Set, ok bool)) {
	s.listing.Store(listing.List(dir, listing.Client{Monitor: s.common.Monitor, Trouble: &s.trouble, Tell: s.onEntry, Describe: func() (directory.Entry, bool) {
		set, ok := wanted()
		return s.described(directory.Entry{Role: role, Backend: s.own.Backends.Kinds(), Since: s.opened, Tags: set}), ok
	}}))
}

// described adds what the directory says of any side.
func (s *side) described(e directory.Entry) directory.Entry {
	e.Instance, e.Name, e.Host, e.PID = s.own.Instance, s.common.Name, s.own.Host, os.Getpid()
	return e
}

// onEntry tells of the entry. Threads: any.
func (s *side) onEntry(news announce.News) { s.loop.Post(func() { s.event(entryEvent(news)) }) }

// helloTo returns the first message of this side to a peer.
//
//   - instance: that the peer is expected to have; empty: any.
//   - every: the interval of this side.
func (s *side) helloTo(instance string, every time.Duration) ([]byte, error) {
	return subscription.AppendHello(nil, subscription.Hello{
		Instance: s.own.Instance, Expect: instance, Role: s.role, Name: s.common.Name, Host: s.own.Host, PID: os.Getpid(),
		MaxMessageBytes: s.most, BeatMillis: heartbeat.Millis(every), Limited: s.limited,
	})
}

// event reports e soon, on the loop, where no lock is held and no page is half delivered. Loop
// only.
func (s *side) event(e Event) { s.events.Add(e, nil) }

// problem reports what does not work. Loop only.
func (s *side) problem(err error) { s.event(Event{Kind: Problem, Err: err}) }

// asked returns what is asked for something that takes a job of the loop.
func (s *side) asked() workqueue.Asked {
	return workqueue.Asked{Loop: s.loop, Queue: &s.work, Ended: s.closer.Ended(), Closed: ErrClosed, OtherLoop: ErrOnLoop}
}

// meet returns which peer has been dialed, if it may do something of a kind here and has signed
// its entry.
//
// Errors: those of Access.Identify; *AccessError; *SignerError.
func (s *side) meet(c *peerContact, action acl.Action) (door.Peer, error) {
	who, err := s.door.Enter(c.Ep, action)
	if err == nil && !s.door.Signed(c.Entry.Signer, who.Identity()) {
		err = &SignerError{Instance: c.Entry.Instance, Signer: c.Entry.Signer, Who: who.Identity().Principal}
	}
	return who, err
}

// refused returns the event for a refusal, and reports whether it is to be told now.
//
//   - err: one without an *AccessError is always told.
//   - peer: at the other end.
//   - proved: which one it is; nil without Access.
func (s *side) refused(err error, peer *Peer, proved *identity.Peer) (e Event, tell bool) {
	refused := (*AccessError)(nil)
	if !errors.As(err, &refused) {
		return Event{Kind: Refused, Peer: peer, Err: err}, true
	}
	told, due := s.door.Tell(door.Refusal(*refused), proved)
	return Event{Kind: Refused, Peer: peer, Tags: told.Tags, Err: (*AccessError)(&told)}, due
}

// state returns the state of this side, without peers and tags.
func (s *side) state(role state.Role, now time.Time) state.State {
	st := snapshot.New(role, snapshot.Time(now))
	st.Instance, st.Name, st.Host, st.Since = s.own.Instance, s.common.Name, s.own.Host, snapshot.Time(s.opened)
	st.Backend = s.own.Backends.Names()
	st.Silent, st.Broken = s.silent.Load(), s.broken.All()
	st.EntryFailing, st.EntryCrowded = s.trouble.Failing(), s.trouble.Crowded()
	if old, ok := s.common.Access.(Failing); ok {
		st.AccessFailing = old.Failing()
	}
	if s.entry != nil {
		snapshot.ShowPlace(s.entry.Place(), &st)
	}
	return st
}

// What both ends of a connection say of each other.

// protocolError returns an error that wraps ErrProtocol, for a peer that has broken the
// protocol.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// unanswered returns the error of workqueue.Ask as users see it: the cause of the end of a
// context with what was asked.
func unanswered(what string, err error) error {
	if err == nil || err == ErrClosed || err == ErrOnLoop { //nolint:errorlint // the cause of a context may wrap one of these
		return err
	}
	return fmt.Errorf("bus: %s: %w", what, err)
}

// tooMany returns kind, with the limit of a configuration that is reached.
func tooMany(kind error, full *admission.Full, limit string) error {
	if full.Host.IsValid() {
		return fmt.Errorf("%w: %d from %v, the most it allows of one host: raise %sPerHost", kind, full.Taken, full.Host, limit)
	}
	return fmt.Errorf("%w: %d, the most it allows: raise %s", kind, full.Taken, limit)
}

// peerOf returns the peer that has said hello, or nothing yet.
func peerOf(h subscription.Hello, ep netio.Endpoint) *Peer {
	return &Peer{Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID, Addr: ep.Remote(), Backend: ep.Backend()}
}

// refusal is how a peer is told why it is refused, and the subscription id, or the
// whole connection if id is 0. A reason that is longer than a text of the protocol
// may be loses its end, and says so.
func refusal(id uint64, reason error) *subscription.Refused {
	return &subscription.Refused{ID: id, Reason: sanitize.Cut(sanitize.Error(outsideOf(reason)), subscription.MaxTextBytes)}
}

// answerOf reads the first message of the dialed side: its hello, or the reason for which it
// refuses the connection.
//
//   - instance, role: that it is expected to have. Another instance at the address of an entry may
//     be gone again later, or the peer be at its next address.
func answerOf(data []byte, instance, role string) (h subscription.Hello, err error) {
	if data[0] == byte(subscription.KindRefused) {
		var refused *subscription.Refused
		if refused, err = subscription.DecodeRefused(data); err == nil {
			return h, refusedError{sanitize.Line(refused.Reason)}
		}
	} else {
		h, err = subscription.DecodeHello(data)
	}
	switch {
	case err != nil:
		return h, errors.Join(ErrProtocol, err)
	case h.Instance != instance:
		return h, ErrStaleEntry
	case h.Role != role && role == "":
		return h, protocolError("it is a %s", sanitize.Text(h.Role))
	case h.Role != role:
		return h, protocolError("it is no %s", role)
	}
	return h, nil
}
