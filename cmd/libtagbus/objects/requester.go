// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"

	"tagbus/bus"
	"tagbus/cmd/internal/jsonline"
	"tagbus/tags"
)

// requester is a requester, and the bus that it is closed with.
type requester struct {
	*bus.Requester
	bus *Bus
}

// OpenRequester opens a requester.
func (l *Library) OpenRequester(sender, subscriber Handle, command, reply uint64, options string) (Handle, error) {
	const function = "tagbus_requester_open"
	s, err := l.Sender(sender)
	if err != nil {
		return 0, err
	}
	o, err := Get[*Owner](&l.Table, subscriber, KindSubscriber, "subscriber")
	if err != nil {
		return 0, err
	}
	var flags requesterOptions
	if err := read(function, options, &flags); err != nil {
		return 0, err
	}
	r, err := bus.NewRequester(s, o.subscriber, bus.RequesterConfig{
		Command: tags.Tag(command), Reply: tags.Tag(reply), Timeout: flags.Timeout, MaxWaiting: flags.MaxWaiting,
	})
	if err != nil {
		return 0, err
	}
	asking := &requester{Requester: r, bus: o.bus}
	h := l.Table.Put(KindRequester, asking)
	if h == 0 {
		_ = r.Close()
		return 0, tooMany
	}
	o.bus.mu.Lock()
	defer o.bus.mu.Unlock()
	if o.bus.closed {
		l.Table.Remove(h)
		_ = r.Close()
		return 0, &Error{Closed, "bus is closed"}
	}
	if o.bus.asking == nil {
		o.bus.asking = make(map[Handle]*bus.Requester)
	}
	o.bus.asking[h] = r
	return h, nil
}

// Request sends a command, and returns the reply.
func (l *Library) Request(h Handle, command []byte, milliseconds int64) (bus.Message, error) {
	r, err := Get[*requester](&l.Table, h, KindRequester, "requester")
	if err != nil {
		return bus.Message{}, err
	}
	ctx, cancel := waiting(milliseconds)
	defer cancel()
	m, err := r.Request(ctx, command)
	return m, timeless("tagbus_request", milliseconds, err)
}

// CloseRequester closes a requester.
func (l *Library) CloseRequester(h Handle) error {
	r, err := Take[*requester](&l.Table, h, KindRequester, "requester")
	if err != nil {
		return err
	}
	r.bus.mu.Lock()
	delete(r.bus.asking, h)
	r.bus.mu.Unlock()
	_ = r.Close() // its subscriber may be closed
	return nil
}

// Stats returns the counters of a handle as JSON.
func (l *Library) Stats(h Handle) ([]byte, error) {
	if h.kind() == KindRequester {
		r, err := Get[*requester](&l.Table, h, KindRequester, "handle")
		if err != nil {
			return nil, err
		}
		return jsonline.Marshal(r.Stats())
	}
	o, err := Get[*Owner](&l.Table, h, 0, "handle")
	if err != nil {
		return nil, err
	}
	_, stats := o.opened()
	return jsonline.Marshal(stats())
}

// State returns the state of a handle as JSON.
func (l *Library) State(h Handle, options string) ([]byte, error) {
	o, err := Get[*Owner](&l.Table, h, 0, "handle")
	if err != nil {
		return nil, err
	}
	var flags stateOptions
	if err := read("tagbus_state", options, &flags); err != nil {
		return nil, err
	}
	what, _ := o.opened()
	s, err := what.State(context.Background(), flags.question())
	if err != nil {
		return nil, err
	}
	return jsonline.Marshal(s)
}
