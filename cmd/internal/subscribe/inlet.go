// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/netip"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/bus/metrics"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/node"
	"tagbus/tags"
)

// subscriber is the side that receives: a subscriber of the bus, or with --receive
// a receiver.
type subscriber interface {
	subscribe(h bus.Handler) (subscription, error)
	Instance() string // of a receiver: once it is subscribed
	State(ctx context.Context, q state.Question) (state.State, error)
	Stats() bus.SubscriberStats
	TagStats(ctx context.Context) ([]bus.TagStats, error)
	Offers(ctx context.Context, wanted tags.Set) (bus.Offers, error) // none of a receiver, which senders find
	metrics() prometheus.Collector
}

// subscription is what is received.
type subscription interface {
	Messages(ctx context.Context) iter.Seq2[bus.Message, error]
	Wait(ctx context.Context) error
	Unsubscribe(ctx context.Context) error
}

// openSubscriber opens what the flags ask for.
//
//   - monitor: where the metrics are; the zero value if they are not served.
func (r *run) openSubscriber(n *node.Node, monitor netip.AddrPort) error {
	if r.flags.Receive {
		if r.flags.Exclusive { // before an output is replaced, which may be that of the other receiver
			if owned := findOwners(n.Directory(), r.flags.Tags).first("", false); owned != nil {
				return owned
			}
		}
		r.subscriber = &receiving{run: r, node: n, monitor: monitor}
		return nil
	}
	cfg := r.flags.config()
	cfg.OnEvent, cfg.Monitor = r.onEvent, monitor
	s, err := n.NewSubscriber(cfg)
	if err != nil {
		return err
	}
	r.subscriber = subscribing{s, r}
	return nil
}

type subscribing struct {
	*bus.Subscriber
	run *run
}

func (s subscribing) subscribe(h bus.Handler) (subscription, error) {
	sub, err := s.SubscribeWith(s.run.flags.Tags, h, s.run.flags.subscription())
	if err != nil {
		return nil, err
	}
	s.run.console.Tell(slog.LevelInfo, "subscribing", s.run.flags.SelfFields(s.Instance(), netip.AddrPort{}), "subscribed to %v, waiting for publishers in %s", s.run.flags.Tags, s.run.flags.Bus)
	return sub, nil
}

func (s subscribing) metrics() prometheus.Collector { return metrics.OfSubscriber(s.Stats) }

// receiving is a receiver. It is opened by subscribe, for it gets messages at
// once: the output must be there.
type receiving struct {
	run      *run
	node     *node.Node
	monitor  netip.AddrPort
	receiver atomic.Pointer[bus.Receiver] // nil before
}

func (r *receiving) subscribe(h bus.Handler) (subscription, error) {
	cfg := r.run.flags.receiverConfig()
	cfg.OnEvent, cfg.Monitor = r.run.onEvent, r.monitor
	owners := findOwners(r.node.Directory(), cfg.Tags)
	receiver, err := r.node.NewReceiver(cfg, h)
	if err != nil {
		return nil, cli.NameListen("--listen", cfg.Listen, err)
	}
	r.run.owned = func() *ownedError { return owners.first(receiver.Instance(), r.run.refused.Load()) }
	owned := r.run.owned()
	if owned != nil && r.run.flags.Exclusive {
		return nil, errors.Join(owned, receiver.Close())
	}
	r.receiver.Store(receiver)
	r.run.console.Tell(slog.LevelInfo, "receiving", r.run.flags.SelfFields(receiver.Instance(), receiver.Addr()), "receives %v on %s, waiting for senders in %s", cfg.Tags,
		cli.Place(receiver.Addr(), cli.AnnouncedBy(receiver.State), len(cfg.Advertise) > 0), r.run.flags.Bus)
	if owned != nil {
		r.run.sayOwned(owned, "waiting")
	}
	return received{receiver}, nil
}

// Stats implements subscriber.
func (r *receiving) Stats() (st bus.SubscriberStats) {
	if receiver := r.receiver.Load(); receiver != nil {
		st = receiver.Stats()
	}
	return st
}

// Instance implements subscriber.
func (r *receiving) Instance() string {
	if receiver := r.receiver.Load(); receiver != nil {
		return receiver.Instance()
	}
	return ""
}

// State implements subscriber.
func (r *receiving) State(ctx context.Context, q state.Question) (state.State, error) {
	if receiver := r.receiver.Load(); receiver != nil {
		return receiver.State(ctx, q)
	}
	return state.State{}, bus.ErrClosed
}

// TagStats implements subscriber.
func (r *receiving) TagStats(ctx context.Context) ([]bus.TagStats, error) {
	if receiver := r.receiver.Load(); receiver != nil {
		return receiver.TagStats(ctx)
	}
	return nil, nil
}

// Offers implements subscriber.
func (*receiving) Offers(context.Context, tags.Set) (bus.Offers, error) { return bus.Offers{}, nil }

func (r *receiving) metrics() prometheus.Collector { return metrics.OfReceiver(r.Stats) }

// received is what a receiver receives.
type received struct{ *bus.Receiver }

// Wait returns at once: no sender refuses a receiver for good.
func (received) Wait(context.Context) error { return nil }

// Unsubscribe lets the senders go.
func (r received) Unsubscribe(ctx context.Context) error { return r.Drain(ctx) }
