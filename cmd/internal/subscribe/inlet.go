package subscribe

import (
	"context"
	"iter"

	"tagbus/bus"
	"tagbus/node"
)

// subscriber is who receives: a subscriber of the bus, or with --receive a
// receiver.
type subscriber interface {
	subscribe(h bus.Handler) (subscription, error)
	Stats() bus.SubscriberStats
}

// subscription is what is received.
type subscription interface {
	Messages(ctx context.Context) iter.Seq2[bus.Message, error]
	Wait(ctx context.Context) error
	Unsubscribe(ctx context.Context) error
}

// openSubscriber opens what the flags ask for.
func (r *run) openSubscriber(n *node.Node) error {
	if r.flags.Receive {
		cfg := r.flags.receiverConfig()
		cfg.OnEvent = r.onEvent
		handler := r.handle
		if r.flags.Output != "" {
			handler = nil
		}
		receiver, err := n.NewReceiver(cfg, handler)
		if err != nil {
			return err
		}
		r.subscriber = receiving{receiver, r}
		return nil
	}
	cfg := r.flags.config()
	cfg.OnEvent = r.onEvent
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
	sub, err := s.Subscribe(s.run.flags.Tags, h)
	if err != nil {
		return nil, err
	}
	s.run.console.Say("subscribed to %v, waiting for publishers in %s", s.run.flags.Tags, s.run.flags.Bus)
	return sub, nil
}

// receiving is a receiver, which has subscribed from the beginning. What comes
// before the output is open waits in its queue.
type receiving struct {
	*bus.Receiver
	run *run
}

func (r receiving) subscribe(bus.Handler) (subscription, error) {
	r.run.console.Say("receives %v on %s, waiting for senders in %s", r.run.flags.Tags, r.Addr(), r.run.flags.Bus)
	return r, nil
}

// Wait returns at once: nobody refuses a receiver for good.
func (receiving) Wait(context.Context) error { return nil }

// Unsubscribe lets the senders go.
func (r receiving) Unsubscribe(ctx context.Context) error { return r.Drain(ctx) }
