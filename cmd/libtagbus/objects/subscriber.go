// SPDX-License-Identifier: Apache-2.0

package objects

import "tagbus/bus"

// OpenSubscriber opens a subscriber.
func (l *Library) OpenSubscriber(h Handle, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_subscriber_open"
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return 0, err
	}
	var flags struct{ receiveOptions }
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	// Its thread is there for the subscriptions with callbacks, too.
	return b.open(KindSubscriber, flags.OnLoop, call, func(o *Owner, onEvent func(bus.Event)) (err error) {
		cfg := bus.SubscriberConfig{Common: flags.common(), Receiving: flags.receiving()}
		cfg.OnEvent = onEvent
		o.subscriber, err = b.node.NewSubscriber(cfg)
		return err
	})
}

// Subscribe subscribes.
func (l *Library) Subscribe(h Handle, set, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_subscribe"
	o, err := Get[*Owner](&l.Table, h, KindSubscriber, "subscriber")
	if err != nil {
		return 0, err
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return 0, err
	}
	var flags subscriptionOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	cfg := flags.config()
	s, onBatch := o.subscription(call, &cfg)
	if s == nil {
		return 0, tooMany
	}
	if s.sub, err = o.subscriber.SubscribePages(parsed, onBatch, cfg); err == nil {
		err = s.begin()
	}
	if err != nil {
		l.Table.Remove(s.handle)
		return 0, err
	}
	return s.handle, nil
}

// OpenReceiver opens a receiver.
func (l *Library) OpenReceiver(h Handle, set, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_receiver_open"
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return 0, err
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return 0, err
	}
	var flags receiverOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	return b.open(KindReceiver, flags.OnLoop, call, func(o *Owner, onEvent func(bus.Event)) (err error) {
		cfg := flags.config(parsed)
		cfg.OnEvent = onEvent
		s, onBatch := o.subscription(call, &cfg.Subscription)
		if s == nil {
			return tooMany
		}
		o.messages, cfg.Pages = s, onBatch
		if o.receiver, err = b.node.NewReceiver(cfg, nil); err != nil {
			l.Table.Remove(s.handle)
			return err
		}
		s.sub = o.receiver.Subscription()
		return s.begin()
	})
}

// Subscription returns the subscription of a handle.
func (l *Library) Subscription(h Handle) (*Subscription, error) {
	return Get[*Subscription](&l.Table, h, KindSubscription, "subscription")
}

// Messages returns what a receiver receives.
func (l *Library) Messages(h Handle) (Handle, error) {
	o, err := Get[*Owner](&l.Table, h, KindReceiver, "receiver")
	if err != nil {
		return 0, err
	}
	if o.call.Batch != 0 {
		return 0, invalid("tagbus_receiver_messages: receiver delivers to on_batch: open it with NULL")
	}
	return o.messages.handle, nil
}

// WaitAcknowledged waits until a subscription is acknowledged.
func (l *Library) WaitAcknowledged(h Handle, milliseconds int64) error {
	s, err := l.Subscription(h)
	if err != nil {
		return err
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	return timeless("tagbus_subscription_wait", milliseconds, s.sub.Wait(ctx))
}

// ChangeSubscription adds tags to a subscription, or removes some.
func (l *Library) ChangeSubscription(h Handle, set string, add bool) error {
	s, err := l.Subscription(h)
	if err != nil {
		return err
	}
	function, change := "tagbus_subscription_remove", s.sub.Remove
	if add {
		function, change = "tagbus_subscription_add", s.sub.Add
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return err
	}
	return change(parsed)
}
