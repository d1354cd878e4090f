// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/tool"
	"tagbus/tags"
)

// sessionTime is how long a session may ask nothing before another one may begin.
const sessionTime = 30 * time.Second

// server is the serving side. Its handlers run on the loop, which owns what is below.
type server struct {
	cmd       *Command
	publisher *bus.Publisher
	plain     *plainServer
	lost      func() uint64 // what the bus has reported as lost so far

	session    string
	heard      time.Time // of the session
	verifier   *emulate.Verifier
	lostBefore uint64 // when the session began
	messages   uint64 // of this round
	bytes      uint64
	cpu        time.Duration // when it began
}

// serve answers measurements until a signal.
func (c *Command) serve(ctx context.Context, e *tool.Env) (err error) {
	console := cli.NewConsole(name, e.Err, cli.Log{Quiet: c.Quiet})
	defer func() { err = errors.Join(err, console.Close()) }()
	console.Follow(ctx)
	n, err := e.Node()
	if err != nil {
		return err
	}
	s := &server{cmd: c}
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{Name: name + " serve"}, Dialing: bus.Dialing{Unlisted: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, subscriber.Close()) }()
	s.lost = func() uint64 { return subscriber.Stats().Lost }
	s.publisher, err = n.NewPublisher(bus.PublisherConfig{
		Common:    bus.Common{Name: name + " serve"},
		Listening: bus.Listening{Listen: c.Listen.AddrPort},
		Sending:   bus.Sending{MaxMessageBytes: maxPing},
		Tags:      tags.Of(c.tag(answerTag), c.tag(pongTag)),
	})
	if err != nil {
		return cli.NameListen("--listen", c.Listen.AddrPort, err)
	}
	defer func() { err = errors.Join(err, s.publisher.Close()) }()
	if s.plain, err = listenPlain(netip.AddrPortFrom(s.publisher.Addr().Addr(), 0)); err != nil {
		return err
	}
	defer s.plain.close()
	wanted := tags.Union(tags.Of(c.tag(requestTag), c.tag(pingTag)), c.data(maxTags-dataTag))
	if _, err := subscriber.Subscribe(wanted, s.handle); err != nil {
		return err
	}
	console.Say("serves on %s, and plain TCP on port %d; run tagbus bench run --bus %s --listen ADDR on the other host", cli.Place(s.publisher.Addr(), cli.AnnouncedBy(s.publisher.State), false), s.plain.port(), e.Bus)
	if c.Child {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, e.In) // its end is what is waited for
		}()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		return nil
	}
	<-ctx.Done()
	return nil
}

// handle takes a message. On the loop.
func (s *server) handle(m bus.Message) {
	switch m.Tag {
	case s.cmd.tag(pingTag):
		// What finds no room is missed by the running side.
		_ = s.publisher.Publish(s.cmd.tag(pongTag), m.Data)
	case s.cmd.tag(requestTag):
		var q request
		if json.Unmarshal(m.Data, &q) != nil {
			return // not from this command
		}
		text, err := json.Marshal(s.answer(q))
		if err == nil {
			_ = s.publisher.Publish(s.cmd.tag(answerTag), text) // as above
		}
	default:
		s.messages++
		s.bytes += uint64(len(m.Data))
		if s.verifier != nil {
			_ = s.verifier.Check(m) // it counts
		}
	}
}

// answer answers a request.
func (s *server) answer(q request) answer {
	a := answer{Session: q.Session, ID: q.ID}
	now := time.Now()
	if q.Op == helloOp && (s.session == "" || now.Sub(s.heard) >= sessionTime) {
		s.session, s.verifier, s.lostBefore = q.Session, new(emulate.Verifier), s.lost()
	}
	if q.Session != s.session || q.Session == "" {
		a.Error = fmt.Sprintf("another measurement is going on: wait until it has ended, or for %v", sessionTime)
		return a
	}
	s.heard = now
	switch q.Op {
	case helloOp:
		a.IP, a.Port, a.Token = s.plain.ip(), s.plain.port(), s.plain.token
	case beginOp:
		s.messages, s.bytes, s.cpu = 0, 0, cpuTime()
	case endOp:
		s.session = ""
	case reportOp:
	default:
		a.Error = fmt.Sprintf("%.20q is no operation that this version knows", q.Op)
	}
	a.Messages, a.Bytes, a.CPU = s.messages, s.bytes, (cpuTime() - s.cpu).Seconds()
	a.Corrupt, a.Duplicates, a.Missing, a.Lost = s.verifier.Corrupt, s.verifier.Duplicates, s.verifier.Missing, s.lost()-s.lostBefore
	return a
}
