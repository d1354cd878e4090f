// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/metrics"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/offers"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
	"tagbus/node"
	"tagbus/tags"
)

// producer is what messages leave by: a publisher, or with --send a sender.
type producer interface {
	session.Publisher
	publish(ctx context.Context, tag tags.Tag, data []byte) error // waits for room
	TagLosses(instance string) []bus.TagLosses
	metrics() prometheus.Collector
	Instance() string
	State(ctx context.Context, q state.Question) (state.State, error)
}

// openProducer opens what the flags ask for, and says so.
//
//   - monitor: where the metrics are; the zero value if they are not served.
func (r *run) openProducer(n *node.Node, monitor netip.AddrPort) error {
	if r.flags.Send {
		cfg := r.flags.senderConfig()
		cfg.OnEvent, cfg.Monitor = r.onEvent, monitor
		s, err := n.NewSender(cfg)
		if err != nil {
			return err
		}
		r.producer = &sender{s, r, n.Directory(), bus.Status(r.flags.Status)}
		r.console.Tell(slog.LevelInfo, "sending", r.flags.SelfFields(s.Instance(), netip.AddrPort{}), "%s sends to the receivers of %v in %s", r.flags.Self(s.Instance()), r.flags.Tags, r.flags.Bus)
		return nil
	}
	cfg := r.flags.config()
	cfg.OnEvent, cfg.Monitor = r.onEvent, monitor
	p, err := n.NewPublisher(cfg)
	if err != nil {
		return cli.NameListen("--listen", cfg.Listen, err)
	}
	r.producer = publisher{p, bus.Status(r.flags.Status)}
	r.audience.Told.Set(cli.AnnouncedBy(p.State))
	r.console.Tell(slog.LevelInfo, "publishing", r.flags.SelfFields(p.Instance(), p.Addr()), "%s publishes on %s", r.flags.Self(p.Instance()), cli.Place(p.Addr(), r.audience.Told.Addresses(), r.audience.Advertised))
	return nil
}

type publisher struct {
	*bus.Publisher
	status bus.Status
}

func (p publisher) metrics() prometheus.Collector { return metrics.OfPublisher(p.Stats) }

// publish publishes one message, and waits for room if there is none.
func (p publisher) publish(ctx context.Context, tag tags.Tag, data []byte) error {
	err := p.PublishStatus(tag, p.status, data)
	if err == bus.ErrNoResources { //nolint:errorlint // Publish returns it bare, and this is the data path
		return p.PublishStatusContext(ctx, tag, p.status, data)
	}
	return err
}

type sender struct {
	*bus.Sender
	run       *run
	directory directory.Directory // nil: in tests
	status    bus.Status
}

// publish sends one message, and waits for a receiver of its tag, for room, and
// if the flags say so for its being handled.
func (s *sender) publish(ctx context.Context, tag tags.Tag, data []byte) error {
	if !s.run.flags.Ack {
		err := s.SendStatus(tag, s.status, data)
		if errors.Is(err, bus.ErrNoResources) || errors.Is(err, bus.ErrNoReceiver) {
			return s.wait(tag, func() error { return s.SendStatusContext(ctx, tag, s.status, data) })
		}
		return err
	}
	err := s.wait(tag, func() error { return s.SendStatusAcked(ctx, tag, s.status, data) })
	if ack := (*bus.AckError)(nil); errors.As(err, &ack) && ctx.Err() == nil {
		if s.run.unacked.Add(1) <= maxUnackedLines {
			s.run.console.Notice("%v", err)
		}
		return nil // the next one may be
	}
	return err
}

// wait sends a message that may have to wait, and notes its tag meanwhile, and for ever if it
// has no receiver to the end.
func (s *sender) wait(tag tags.Tag, send func() error) error {
	s.run.waiting.Store(&tag)
	err := send()
	if errors.Is(err, bus.ErrNoReceiver) {
		s.run.unsent.Store(&tag)
	}
	s.run.waiting.Store(nil)
	return err
}

// tellReceivers says which receivers there are while messages have none, until stop, which
// returns when nothing more is said.
func (r *run) tellReceivers() (stop func()) {
	s, sends := r.producer.(*sender)
	if !sends {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		offers.TellSender(r.console, s, s.directory, r.unreceived, func() uint64 { return s.Stats().Messages }, done)
	}()
	return func() {
		close(done)
		<-ended
	}
}

// unreceived returns the tag of the message that waits, or all tags while nothing was sent,
// and reports whether there is something to be said about them.
func (r *run) unreceived() (tags.Set, bool) {
	if tag := r.waiting.Load(); tag != nil {
		return tags.Of(*tag), true
	}
	st := r.producer.Stats()
	return r.flags.Tags, st.Messages == 0 && len(st.Subscribers) == 0
}

// unsentError is the failure of a run that has ended with a message for which there was no
// receiver.
func (r *run) unsentError() error {
	tag := r.unsent.Load()
	if tag == nil || r.ended == "signal" && r.flags.Emulate != nil { // it is asked to stop, and nothing is lost of what was read
		return nil
	}
	return fmt.Errorf("sent %s, and not the next one: tag %v has no receiver in %s%s", units.FormatNumber(r.stats.Messages, "message"), *tag, r.flags.Bus, r.orRefused(": start subscriber --receive with it"))
}

// orRefused returns what to do for want of a receiver, unless those that there are refuse: which, and why, stands
// at the end of what is said.
func (r *run) orRefused(do string) string {
	if r.presence.Refused() > 0 {
		return " that takes this sender"
	}
	return do
}

// maxUnackedLines is how many messages without acknowledgement are named.
const maxUnackedLines = 10

// WaitSubscribers waits for the receivers; Check lets n be 0 only.
func (s *sender) WaitSubscribers(ctx context.Context, _ int, set tags.Set) error {
	return s.WaitReceivers(ctx, set)
}

// Stats returns what a publisher has too.
func (s *sender) Stats() bus.PublisherStats { return s.Sender.Stats().PublisherStats }

func (s *sender) metrics() prometheus.Collector { return metrics.OfSender(s.Sender.Stats) }

// checkSend reports what is wrong with --send and the flags that need it.
func (f *Flags) checkSend(add func(string, ...any)) {
	switch {
	case f.Ack && !f.Send:
		add("--ack needs --send")
	case f.Send && len(f.Advertise)+len(f.ListenAlso) > 0:
		add("--advertise and --listen-also are for publishing: --send announces nothing")
	case f.Send && f.WaitSubscribers > 0:
		add("--wait-subscribers is for publishing: --send waits for the receiver of each message anyway")
	}
}

// senderConfig returns the configuration of the bus for --send.
func (f *Flags) senderConfig() bus.SenderConfig {
	c := f.config()
	return bus.SenderConfig{Common: c.Common, Sending: c.Sending, Tags: c.Tags}
}

// unackedError is the failure of a run whose messages were not all acknowledged.
func unackedError(n uint64) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("messages that were sent and not acknowledged: %d", n)
}
