// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"tagbus/bus"
	"tagbus/tags"
	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
)

// turn is how often a publisher that has a rate publishes, and groupTurn one with groups.
const (
	turn      = 5 * time.Millisecond
	groupTurn = 50 * time.Millisecond
)

type publisher struct {
	*common
	listen                string
	port, serves          int
	first                 uint64
	tags, subscribers     int
	groups                int
	rate, fast            float64
	bytes                 int
	queueBytes, poolBytes int
	cache                 int
	drain                 time.Duration
	usr1                  bool
	canary                string

	handle *bus.Publisher
	stop   context.Context // of the whole program
}

// publish is the program: it publishes -tags tags from -first on until SIGTERM, and then drains.
func publish(c *common, args []string) int {
	p := &publisher{common: c}
	c.StringVar(&p.listen, "listen", "127.0.0.1", "address")
	c.IntVar(&p.port, "port", 0, "port; 0: the system picks one")
	c.Uint64Var(&p.first, "first", 1, "first tag")
	c.IntVar(&p.tags, "tags", 6, "how many tags")
	c.IntVar(&p.groups, "groups", 0, "goroutines that publish, each a run of tags, every 50 ms; 0: one for each tag, every 5 ms")
	c.IntVar(&p.subscribers, "subscribers", 1, "how many subscribers are waited for")
	c.IntVar(&p.serves, "serves", 0, "how many tags from Churned on are served, too, of which nothing is published")
	c.Float64Var(&p.rate, "rate", 1000, "messages of a tag in a second; 0: as many as there is room for")
	c.Float64Var(&p.fast, "fast", 1, "how many times the rate the first tag of each group has")
	c.IntVar(&p.bytes, "bytes", 500, "of a message")
	c.IntVar(&p.queueBytes, "queue-bytes", 1200000, "that may wait for a subscription")
	c.IntVar(&p.poolBytes, "pool-bytes", 32<<20, "of all messages that wait")
	c.IntVar(&p.cache, "cache", 0, "messages of a tag that are kept")
	c.DurationVar(&p.drain, "drain", 30*time.Second, "longest time of Drain")
	c.StringVar(&p.canary, "canary", "", "break a promise at message 100 of the first tag, to see that it is noticed: skip, double or change")
	c.BoolVar(&p.usr1, "usr1", false, "wait for SIGUSR1, too, before publishing")
	_ = c.Parse(args) // flag.ExitOnError
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, syscall.SIGUSR1)
	stop, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer end()
	p.stop = stop
	return p.run(begin)
}

func (p *publisher) run(begin <-chan os.Signal) int {
	address, err := netip.ParseAddr(p.listen)
	if err != nil {
		return p.failed(2, err)
	}
	sent, err := record.Create[check.Sent](p.record, max(Tags, p.tags))
	if err != nil {
		return p.failed(2, err)
	}
	owed, err := record.Create[check.Owed](p.record+".owed", Slots)
	if err != nil {
		return p.failed(2, err)
	}
	n, err := p.open()
	if err == nil {
		err = p.vitals(p.stop)
	}
	if err != nil {
		return p.failed(2, err)
	}
	set, serves, err := p.sets()
	if err == nil {
		p.handle, err = n.NewPublisher(bus.PublisherConfig{
			Common: p.settings(p.event), Listening: bus.Listening{Listen: netip.AddrPortFrom(address, uint16(p.port))}, Tags: serves,
			Sending: bus.Sending{
				QueueBytes: p.queueBytes, PoolBytes: p.poolBytes, MaxMessageBytes: 1 << 16, CacheMessages: p.cache,
			},
		})
	}
	if err != nil {
		return p.failed(2, errors.Join(err, n.Close()))
	}
	for i := range p.tags {
		sent[i].Publisher, sent[i].Tag = check.NameOf(p.handle.Instance()), p.first+uint64(i)
	}
	p.say(Line{What: "ready", Instance: p.handle.Instance()})
	if p.subscribers > 0 {
		if err := p.handle.WaitSubscribers(p.stop, p.subscribers, set); err != nil && p.stop.Err() == nil {
			return p.failed(1, err)
		}
	}
	if p.usr1 {
		select {
		case <-begin:
		case <-p.stop.Done():
		}
	}
	p.say(Line{What: "begins"})
	var all sync.WaitGroup
	for run := range slices.Chunk(sent[:p.tags], p.inGroup()) {
		all.Go(func() { p.publishes(run) })
	}
	all.Wait()
	if err := errors.Join(p.end(sent, owed), n.Close()); err != nil {
		return p.failed(1, err)
	}
	p.say(Line{What: "ended"})
	return 0
}

// sets returns the tags that are published, and those that are served.
//
// Errors: those of tags.
func (p *publisher) sets() (published, serves tags.Set, err error) {
	if published, err = tags.Range(tags.Tag(p.first), tags.Tag(p.first)+tags.Tag(p.tags)-1); err != nil || p.serves == 0 {
		return published, published, err
	}
	others, err := tags.Range(Churned, Churned+tags.Tag(p.serves)-1)
	return published, tags.Union(published, others), err
}

// inGroup returns how many tags a goroutine publishes.
func (p *publisher) inGroup() int {
	if p.groups == 0 {
		return 1
	}
	return (p.tags + p.groups - 1) / p.groups
}

// publishes publishes a run of tags until the program is to stop: those that are due in turn.
func (p *publisher) publishes(run []check.Sent) {
	every := turn
	if p.groups > 0 {
		every = groupTurn
	}
	due := schedule{rate: p.rate, fast: p.fast, begun: time.Now(), before: make([]uint64, len(run))}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var payload []byte
	for p.stop.Err() == nil {
		rests := true
		for i := range run {
			if !due.now(i, &run[i]) {
				continue
			}
			rests = false
			payload = check.AppendMessage(payload[:0], check.StreamOf(p.handle.Instance()), run[i].Tag, run[i].Accepted, p.bytes)
			if !p.one(&run[i], payload) {
				return
			}
		}
		if rests {
			select {
			case <-tick.C:
			case <-p.stop.Done():
			}
		}
		due.forgive(run)
	}
}

// one publishes a message, and reports whether more may follow.
func (p *publisher) one(sent *check.Sent, payload []byte) bool {
	called := time.Now()
	sent.Tried++
	err := p.message(sent, payload)
	sent.Waited += uint64(time.Since(called))
	if err != nil {
		sent.Tried-- // an error means that no subscriber gets the message
		if p.stop.Err() == nil {
			p.say(Line{What: "publish failed", Err: err.Error()})
		}
		return false
	}
	sent.Accepted++
	return true
}

// message publishes a message.
//
// Errors: those of PublishContext.
func (p *publisher) message(sent *check.Sent, payload []byte) error {
	if p.canary == "" || sent.Tag != p.first || sent.Accepted != 100 {
		return p.handle.PublishContext(p.stop, tags.Tag(sent.Tag), payload)
	}
	switch p.canary {
	case "skip":
		return nil
	case "double":
		if err := p.handle.PublishContext(p.stop, tags.Tag(sent.Tag), payload); err != nil {
			return err
		}
	case "change":
		payload[len(payload)-1] ^= 1
	}
	return p.handle.PublishContext(p.stop, tags.Tag(sent.Tag), payload)
}

// end drains, and writes down what is told of those that have left.
//
// Errors: those of Drain.
func (p *publisher) end(sent []check.Sent, owed []check.Owed) error {
	ctx, cancel := context.WithTimeout(context.Background(), p.drain)
	defer cancel()
	err := p.handle.Drain(ctx)
	for i := range p.tags {
		sent[i].Drained = 1
		if err != nil {
			sent[i].Drained = 2
		}
	}
	slot := 0
	for _, gone := range p.handle.Stats().Gone {
		for _, lost := range p.handle.TagLosses(gone.Peer.Instance) {
			if slot == len(owed) {
				break
			}
			owed[slot] = check.Owed{
				Subscriber: check.NameOf(gone.Peer.Instance), Tag: uint64(lost.Tag),
				Told: check.Told{
					check.Full: lost.Losses.Full, check.Memory: lost.Losses.Memory, check.Connection: lost.Losses.Connection,
					check.LeftOut: lost.Losses.LeftOut,
				},
			}
			slot++
		}
	}
	if errors.Is(err, bus.ErrUndelivered) { // of subscribers that were killed; the checker judges the others
		p.say(Line{What: "undelivered", Err: err.Error()})
		return nil
	}
	return err
}
