// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/tool"
	"tagbus/tags"
)

const (
	// answerTime is how long the serving side may take to answer, and to get on with
	// what it was sent.
	answerTime = 10 * time.Second

	// leaveTime is how long it may take to answer when a run has failed.
	leaveTime = time.Second
)

// runner is the running side.
type runner struct {
	cmd       *Command
	console   *cli.Console
	publisher *bus.Publisher
	plain     *plainClient
	session   string
	asked     uint64       // requests
	peer      bus.Peer     // the serving side; set with the first answer
	answers   chan replied // of one request at a time
	pings     *pings
	doing     atomic.Pointer[string]

	generator *emulate.Generator
	counters  []uint64 // by tag
	next      int      // tag
}

// replied is an answer, and the side that has given it.
type replied struct {
	answer
	from *bus.Peer
}

// measure runs the rounds and prints what they have found.
func (c *Command) measure(ctx context.Context, e *tool.Env) (err error) {
	r := &runner{
		cmd: c, console: cli.NewConsole(name, e.Err, cli.Log{Quiet: c.Quiet}), session: rand.Text(), answers: make(chan replied, 1),
		generator: emulate.NewGenerator(c.Size), counters: make([]uint64, c.TagCount),
	}
	defer func() { err = errors.Join(err, r.console.Close()) }()
	r.console.Follow(ctx)
	r.progress("waiting for the serving side: tagbus bench serve --bus " + e.Bus)
	r.console.Live(func() string { return *r.doing.Load() })
	n, err := e.Node()
	if err != nil {
		return err
	}
	if r.publisher, err = n.NewPublisher(c.publisher()); err != nil {
		return cli.NameListen("--listen", c.Listen.AddrPort, err)
	}
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer func() { err = errors.Join(err, r.publisher.Close()) }()
	r.pings = newPings(c.Size, func(data []byte) error {
		err := r.publisher.Publish(c.tag(pingTag), data)
		if errors.Is(err, bus.ErrNoResources) { // the rate is more than goes through: the time is that of a full queue
			waiting.Go(func() { r.pings.fail(r.publisher.PublishContext(ctx, c.tag(pingTag), data)) })
			return nil
		}
		return err
	})
	subscriber, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{Name: name + " run"}, Dialing: bus.Dialing{Unlisted: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, subscriber.Close()) }()
	subscription, err := subscriber.Subscribe(tags.Of(c.tag(answerTag), c.tag(pongTag)), r.handle)
	if err != nil {
		return err
	}
	if err := r.begin(ctx, subscription); err != nil {
		return err
	}
	defer r.plain.close()
	if err := r.rounds(ctx, newReport(c, e, r.peer)); err != nil {
		r.leave()
		return err
	}
	return nil
}

// leave ends the session of a run that has failed, so that the next one need not wait
// until it is forgotten.
func (r *runner) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	_, _ = r.ask(ctx, endOp) // the failure is known
}

func (r *runner) progress(what string) { r.doing.Store(&what) }

// begin waits for the serving side and opens a session.
func (r *runner) begin(ctx context.Context, s *bus.Subscription) error {
	if c := r.cmd; c.Side == runSide {
		r.console.Say("waits for the serving side (tagbus bench serve, with the same --bus and a --listen ADDR that this host reaches)")
	}
	err := s.Wait(ctx)
	if err == nil {
		err = r.publisher.WaitSubscribers(ctx, 1, r.publisher.Tags())
	}
	if err != nil {
		return fmt.Errorf("the serving side did not come: %w", context.Cause(ctx))
	}
	hello, err := r.ask(ctx, helloOp)
	if err != nil {
		return err
	}
	r.plain, err = dialPlain(ctx, netip.AddrPortFrom(plainIP(&r.peer, hello.IP), hello.Port), hello.Token)
	return err
}

// plainIP returns where the serving side listens for plain TCP. Within a host the address of a peer is
// a name.
//
//   - listens: what the serving side says of itself; invalid of an older one.
func plainIP(peer *bus.Peer, listens netip.Addr) netip.Addr {
	switch {
	case peer.Backend != "shm" || !listens.IsValid():
		return peer.Addr.Addr()
	case listens.IsUnspecified():
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return listens
}

// handle takes what the serving side publishes. On the loop.
func (r *runner) handle(m bus.Message) {
	if m.Tag == r.cmd.tag(pongTag) {
		r.pings.back(m.Data)
		return
	}
	a := replied{from: m.Publisher}
	if json.Unmarshal(m.Data, &a.answer) != nil || a.Session != r.session {
		return // another's
	}
	select {
	case r.answers <- a:
	default: // one that nothing waits for
	}
}

// ask asks the serving side.
func (r *runner) ask(ctx context.Context, op string) (answer, error) {
	r.asked++
	text, err := json.Marshal(request{r.session, r.asked, op})
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("the serving side has not answered for %v", answerTime))
	defer cancel()
	if err := r.publisher.PublishContext(ctx, r.cmd.tag(requestTag), text); err != nil {
		return answer{}, err
	}
	for {
		select {
		case a := <-r.answers:
			if a.ID != r.asked || r.peer.Instance != "" && a.from.Instance != r.peer.Instance {
				continue // late, or of a second serving side
			}
			if a.Error != "" {
				return answer{}, fmt.Errorf("%v: %s", a.from, a.Error)
			}
			r.peer = *a.from
			return a.answer, nil
		case <-ctx.Done():
			return answer{}, context.Cause(ctx)
		}
	}
}

// rounds measures round after round. Both ways are measured in each, so that what else
// the hosts do hits both.
func (r *runner) rounds(ctx context.Context, out *report) error {
	if err := out.head(); err != nil {
		return err
	}
	for n := 1; n <= r.cmd.Rounds; n++ {
		got, err := r.round(ctx, n)
		if err == nil {
			err = out.add(got)
		}
		if err != nil {
			return err
		}
	}
	if _, err := r.ask(ctx, endOp); err != nil {
		return err
	}
	r.console.Live(func() string { return "" })
	if err := out.end(r.pings); err != nil {
		return err
	}
	return out.verdict()
}

// round measures one round.
func (r *runner) round(ctx context.Context, n int) (got round, err error) {
	step := func(what string) { r.progress(fmt.Sprintf("round %d of %d: %s", n, r.cmd.Rounds, what)) }
	got.Round = n
	if _, err := r.ask(ctx, beginOp); err != nil {
		return got, err
	}
	step("messages on the bus")
	underLoad := r.cmd.Rate > 0
	if underLoad {
		r.pings.start(time.Now().Add(r.cmd.Round))
	}
	if err := r.load(ctx, &got); err != nil {
		return got, err
	}
	step("plain TCP")
	took, err := r.plain.send(got.Bytes)
	if err != nil {
		return got, fmt.Errorf("plain TCP: %w", err)
	}
	got.TCPSeconds = took.Seconds()
	step("round trips on the bus")
	if !underLoad {
		r.pings.start(time.Now().Add(r.cmd.Round / 2))
	}
	if err := r.pings.wait(ctx); err != nil {
		return got, err
	}
	step("round trips by plain TCP")
	if err := r.pings.plain(r.plain, time.Now().Add(r.cmd.Round/2)); err != nil {
		return got, fmt.Errorf("plain TCP: %w", err)
	}
	got.trips(r.pings)
	return got, nil
}
