// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"math"

	"tagbus/bus"
	"tagbus/tags"
)

// OpenPublisher opens a publisher.
func (l *Library) OpenPublisher(h Handle, set, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_publisher_open"
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return 0, err
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return 0, err
	}
	var flags publisherOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	return b.open(KindPublisher, flags.OnLoop, call, func(o *Owner, onEvent func(bus.Event)) (err error) {
		cfg := flags.config(parsed)
		cfg.OnEvent, cfg.OnReady = onEvent, o.hasRoom
		o.pub, err = b.node.NewPublisher(cfg)
		return err
	})
}

// OpenSender opens a sender.
//
//   - set: nil for any tag.
func (l *Library) OpenSender(h Handle, set *string, options string, call Callbacks) (Handle, error) {
	const function = "tagbus_sender_open"
	b, err := Get[*Bus](&l.Table, h, KindBus, "bus")
	if err != nil {
		return 0, err
	}
	var parsed tags.Set
	if set != nil {
		if parsed, err = parseTags(function, *set); err != nil {
			return 0, err
		}
	}
	var flags senderOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	return b.open(KindSender, flags.OnLoop, call, func(o *Owner, onEvent func(bus.Event)) (err error) {
		cfg := flags.config(parsed)
		cfg.OnEvent, cfg.OnReady = onEvent, o.hasRoom
		o.wanted = parsed
		o.sender, err = b.node.NewSender(cfg)
		return err
	})
}

// Publisher returns the publisher of a handle.
func (l *Library) Publisher(h Handle) (*bus.Publisher, error) {
	o, err := Get[*Owner](&l.Table, h, KindPublisher, "publisher")
	if err != nil {
		return nil, err
	}
	return o.pub, nil
}

// Sender returns the sender of a handle.
func (l *Library) Sender(h Handle) (*bus.Sender, error) {
	o, err := Get[*Owner](&l.Table, h, KindSender, "sender")
	if err != nil {
		return nil, err
	}
	return o.sender, nil
}

// hasRoom wakes those that wait for room.
func (o *Owner) hasRoom() { o.lib.Program.Ring(o.room) }

// Room returns the bell that rings when a publisher or sender may have room again; 0: there is no
// such handle.
func (l *Library) Room(h Handle) uintptr {
	o, err := Get[*Owner](&l.Table, h, 0, "handle")
	if err != nil {
		return 0
	}
	return o.room
}

// Publish publishes a message, and does not wait for room, as no function of this kind does: its
// caller waits for the bell of Room.
func (l *Library) Publish(h Handle, m bus.Message) error {
	p, err := l.Publisher(h)
	if err != nil {
		return err
	}
	return p.PublishStatus(m.Tag, m.Status, m.Data)
}

// PublishZeroCopy publishes a message without a copy.
//
//   - done, user: a function of the program, and its argument.
func (l *Library) PublishZeroCopy(h Handle, m bus.Message, done, user uintptr) error {
	o, err := Get[*Owner](&l.Table, h, KindPublisher, "publisher")
	if err != nil {
		return err
	}
	var call func()
	if done != 0 {
		call = func() {
			if o.onLoop || !o.post.add(Work{Kind: WorkDone, Fn: done, User: user}) {
				l.Program.Done(done, user, o.place())
			}
		}
	}
	return o.pub.PublishZeroCopy(m.Tag, m.Status, m.Data, call)
}

// Reply publishes the reply to a request.
func (l *Library) Reply(h Handle, to [16]byte, m bus.Message) error {
	p, err := l.Publisher(h)
	if err != nil {
		return err
	}
	return p.Reply(bus.RequestIDOf(to), m.Tag, m.Status, m.Data)
}

// Flush sends what waits for full pages.
func (l *Library) Flush(h Handle, k Kind) error {
	if k == KindSender {
		s, err := l.Sender(h)
		if err == nil {
			s.Flush()
		}
		return err
	}
	p, err := l.Publisher(h)
	if err == nil {
		p.Flush()
	}
	return err
}

// ChangeTags adds tags to a publisher, or removes some.
func (l *Library) ChangeTags(h Handle, set string, add bool) error {
	p, err := l.Publisher(h)
	if err != nil {
		return err
	}
	function, change := "tagbus_publisher_remove", p.RemoveTags
	if add {
		function, change = "tagbus_publisher_add", p.AddTags
	}
	parsed, err := parseTags(function, set)
	if err != nil {
		return err
	}
	return change(parsed)
}

// WaitSubscribers waits until n subscribers have subscribed, and want the tags.
//
//   - set: nil for all tags of the publisher.
func (l *Library) WaitSubscribers(h Handle, n uint64, set *string, milliseconds int64) error {
	const function = "tagbus_publisher_wait"
	p, err := l.Publisher(h)
	if err != nil {
		return err
	}
	if n > math.MaxInt32 {
		return invalid("%s: n is %d, want at most %d", function, n, math.MaxInt32)
	}
	wanted := p.Tags()
	if set != nil {
		if wanted, err = parseTags(function, *set); err != nil {
			return err
		}
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	return timeless(function, milliseconds, p.WaitSubscribers(ctx, int(n), wanted))
}

// Drain ends a publisher, sender or receiver in order.
//
//   - failure: why it ends early, or "".
func (l *Library) Drain(h Handle, k Kind, failure string, milliseconds int64) error {
	function := "tagbus_" + k.String() + "_drain"
	o, err := Get[*Owner](&l.Table, h, k, k.String())
	if err != nil {
		return err
	}
	if err := CheckText(function+": failure", failure); err != nil {
		return err
	}
	var why error
	if failure != "" {
		why = errors.New(failure)
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	switch k {
	case KindPublisher:
		err = o.pub.DrainFailed(ctx, why)
	case KindSender:
		err = o.sender.DrainFailed(ctx, why)
	default:
		err = o.receiver.Drain(ctx)
	}
	return timeless(function, milliseconds, err)
}

// Send sends a message to the receiver of its tag.
//
//   - acked: wait until it is handled.
func (l *Library) Send(h Handle, m bus.Message, acked bool, milliseconds int64) error {
	s, err := l.Sender(h)
	if err != nil {
		return err
	}
	if !acked {
		err = s.SendStatus(m.Tag, m.Status, m.Data)
		if milliseconds == 0 || !errors.Is(err, bus.ErrNoResources) && !errors.Is(err, bus.ErrNoReceiver) {
			return err
		}
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	if acked {
		return timeless("tagbus_send_acked", milliseconds, s.SendStatusAcked(ctx, m.Tag, m.Status, m.Data))
	}
	return timeless("tagbus_send", milliseconds, s.SendStatusContext(ctx, m.Tag, m.Status, m.Data))
}

// WaitReceivers waits until every one of the tags has a connected receiver.
//
//   - set: nil for the tags of the sender.
func (l *Library) WaitReceivers(h Handle, set *string, milliseconds int64) error {
	const function = "tagbus_sender_wait"
	o, err := Get[*Owner](&l.Table, h, KindSender, "sender")
	if err != nil {
		return err
	}
	wanted := o.wanted
	if set != nil {
		if wanted, err = parseTags(function, *set); err != nil {
			return err
		}
	}
	if wanted.IsEmpty() {
		return invalid("%s: tags is NULL, and the sender was opened for any tag: name some", function)
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	return timeless(function, milliseconds, o.sender.WaitReceivers(ctx, wanted))
}
