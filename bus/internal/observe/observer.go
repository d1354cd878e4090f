// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/internal/sendqueue"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
)

var errTwice = errors.New("an observer asks again before the answer is whole")

// Observer is the connection of an observer. Its methods are called for the callbacks of
// its endpoint, on the loop.
type Observer struct {
	server *Server
	ep     netio.Endpoint
	host   netip.Prefix
	peer   any
	out    sendqueue.Queue

	question subscription.Describe // that is not answered
	asking   bool                  // there is one
	since    time.Time             // when its answer was made
	rest     []byte                // of the answer
	kept     int                   // bytes of the answer, until it is sent

	patience alarm.Alarm
}

func newObserver(s *Server, ep netio.Endpoint, peer any) *Observer {
	o := &Observer{server: s, ep: ep, host: hostOf(ep.Remote().Addr()), peer: peer, out: sendqueue.New(ep.PauseReceive, ep.ResumeReceive)}
	o.patience.F = o.end
	return o
}

// Peer returns what the user keeps with it.
func (o *Observer) Peer() any { return o.peer }

// Closed notes the end of the connection.
func (o *Observer) Closed() { o.server.forget(o) }

// SendReady goes on sending.
func (o *Observer) SendReady() { o.pump() }

// Sent notes that the endpoint has sent a message.
func (o *Observer) Sent() {
	o.out.Completed()
	if !o.asking || o.kept > 0 {
		o.rests()
	}
	o.pump()
}

// Data takes a message of the observer.
func (o *Observer) Data(data []byte) {
	m, err := subscription.Decode(data)
	if err != nil {
		o.fail(err)
		return
	}
	switch m := m.(type) {
	case *subscription.Describe:
		if o.asking {
			o.fail(errTwice)
			return
		}
		o.question, o.asking = *m, true
		o.server.cfg.Alarms.Cancel(&o.patience)
		o.server.ask(o)
	case *subscription.Beat:
	default:
		o.fail(fmt.Errorf("an observer does not send %v", m.Kind()))
	}
}

// fail closes the connection of an observer that breaks the protocol.
func (o *Observer) fail(err error) {
	o.server.cfg.Broken(o, err)
	o.end()
}

// end closes the connection.
func (o *Observer) end() {
	o.server.forget(o)
	o.out.Drop()
	_ = o.ep.Close()
}

// rests begins to wait for the observer: for its question, or until it takes more of its
// answer.
func (o *Observer) rests() { o.server.cfg.Alarms.Set(&o.patience, MaxIdle) }

// take takes over the answer.
func (o *Observer) take(a answer) {
	o.since = time.Now()
	if a.refusal != nil {
		o.asking = false
		o.out.Push(a.refusal)
	} else {
		o.rest, o.kept = a.text, len(a.text)
		o.server.unsent += o.kept
	}
	o.rests()
	o.pump()
}

// pump gives the endpoint as much as it takes.
func (o *Observer) pump() {
	if _, here := o.server.all[o]; !here {
		return
	}
	for {
		if err := o.out.Pump(o.ep); err != nil {
			if !errors.Is(err, netio.ErrNoResources) && !errors.Is(err, netio.ErrClosed) {
				o.end() // nothing else would
			}
			return
		}
		if len(o.rest) == 0 {
			break
		}
		if err := o.part(); err != nil {
			o.fail(err)
			return
		}
	}
	if o.kept > 0 { // the answer is whole
		o.server.unsent -= o.kept
		o.kept, o.rest, o.asking = 0, nil, false
	}
}

// part queues the next part of the answer.
func (o *Observer) part() error {
	n := min(len(o.rest), maxPartBytes)
	b, err := subscription.Append(nil, &subscription.Description{ID: o.question.ID, Part: o.rest[:n], More: n < len(o.rest)})
	if err != nil {
		return err
	}
	o.rest = o.rest[n:]
	o.out.Push(b)
	return nil
}
