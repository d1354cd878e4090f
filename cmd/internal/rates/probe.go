// SPDX-License-Identifier: Apache-2.0

package rates

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
	"tagbus/node"
	"tagbus/tags"
)

// maxStreams bounds what a probe remembers: a stream is a tag of a publisher.
const maxStreams = 1 << 16

// probe measures the times between messages.
//
// Threads: any.
type probe struct {
	subscriber *bus.Subscriber
	console    *cli.Console
	presence   session.Presence // of the loop, until the subscriber is closed

	mu       sync.Mutex
	began    time.Time // the window; zero before the first
	streams  map[stream]*gaps
	messages uint64
	unknown  uint64 // messages of streams beyond maxStreams
}

// stream is the messages of a tag and a publisher.
type stream struct {
	tag      tags.Tag
	instance string
}

// gaps is what came of a stream.
type gaps struct {
	publisher *bus.Peer
	last      time.Time // when a message came
	counter   uint64    // of that message
	inWindow
}

// inWindow is what came in the present window. The mean and the squares are those of
// Welford, which lose no digits.
type inWindow struct {
	messages, bytes, leftOut uint64
	n                        float64 // gaps between successive messages
	min, max, mean, squares  float64 // seconds
}

func newProbe(set tags.Set, console *cli.Console) *probe {
	return &probe{streams: make(map[stream]*gaps), console: console, presence: session.Presence{Wanted: set, Began: time.Now()}}
}

// subscribe begins to measure.
func (p *probe) subscribe(n *node.Node) (err error) {
	if p.subscriber, err = n.NewSubscriber(bus.SubscriberConfig{
		Common: bus.Common{Name: "tagbus probe", OnEvent: p.onEvent}, Dialing: bus.Dialing{Unlisted: true},
	}); err != nil {
		return err
	}
	_, err = p.subscriber.SubscribeWith(p.presence.Wanted, func(m bus.Message) {
		p.add(m.Publisher, m.Tag, m.Counter, len(m.Data), time.Now())
	}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})
	return err
}

// onEvent says what keeps messages from this probe. On the loop.
func (p *probe) onEvent(e bus.Event) {
	p.presence.See(e)
	switch e.Kind {
	case bus.Refused, bus.Problem, bus.Vanished:
		p.console.Event(e)
	default:
	}
}

// close ends the probe.
//
//   - d: where publishers are looked for that have not answered; nil: the probe was asked to stop before they could.
//   - Errors: what is missing in what it has measured, as of tagbus sub.
func (p *probe) close(d directory.Directory) error {
	ended := time.Now()
	var err error
	if p.subscriber != nil {
		err = p.subscriber.Close()
	}
	if d != nil {
		listed := session.ListedBy(d)
		p.presence.Settle(listed, ended)
		err = errors.Join(err, listed.Silent())
	}
	return errors.Join(err, p.presence.Refusal("publisher"), p.console.Close())
}

// add takes a message into account.
func (p *probe) add(from *bus.Peer, tag tags.Tag, counter uint64, bytes int, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages++
	key := stream{tag, from.Instance}
	g := p.streams[key]
	if g == nil {
		if len(p.streams) >= maxStreams {
			p.unknown++
			return
		}
		g = &gaps{publisher: from}
		p.streams[key] = g
	}
	switch missing := counter - g.counter - 1; {
	case g.counter == 0 || counter <= g.counter: // the first, also of a publisher that began again
	case missing > 0:
		g.leftOut += missing
	default:
		g.gap(now.Sub(g.last).Seconds())
	}
	g.messages++
	g.bytes += uint64(bytes)
	g.last, g.counter = now, counter
}

// gap takes the time between two successive messages into account.
func (w *inWindow) gap(seconds float64) {
	if w.n == 0 {
		w.min, w.max = seconds, seconds
	}
	w.min, w.max = min(w.min, seconds), max(w.max, seconds)
	w.n++
	d := seconds - w.mean
	w.mean += d / w.n
	w.squares += d * (seconds - w.mean)
}

// gapsOf is what came of a stream in a window, as JSON has it.
type gapsOf struct {
	Time        time.Time `json:"time"`
	Instance    string    `json:"instance"`
	Name        string    `json:"name,omitempty"`
	Host        string    `json:"host,omitempty"`
	Tag         tags.Tag  `json:"tag"`
	Messages    uint64    `json:"messages"`
	MessageRate float64   `json:"messages_per_second"`
	ByteRate    float64   `json:"payload_bytes_per_second"`
	Gaps        uint64    `json:"gaps"` // that were measured: between messages that follow each other
	Min         *float64  `json:"gap_min_seconds,omitempty"`
	Mean        *float64  `json:"gap_mean_seconds,omitempty"`
	Max         *float64  `json:"gap_max_seconds,omitempty"`
	Std         *float64  `json:"gap_std_seconds,omitempty"`
	LeftOut     uint64    `json:"left_out_messages"` // by the policy, because the probe was too slow, or lost: the summary has both
}

// window returns what came since the last call, and begins the next window. The first call
// returns nothing.
func (p *probe) window() (all []gapsOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	seconds, first := now.Sub(p.began).Seconds(), p.began.IsZero()
	p.began = now
	for s, g := range p.streams {
		w := g.inWindow
		g.inWindow = inWindow{}
		if first {
			continue
		}
		one := gapsOf{
			Time: now, Instance: s.instance, Name: g.publisher.Name, Host: g.publisher.Host, Tag: s.tag,
			Messages: w.messages, MessageRate: float64(w.messages) / seconds, ByteRate: float64(w.bytes) / seconds,
			Gaps: uint64(w.n), LeftOut: w.leftOut,
		}
		if w.n > 0 {
			std := math.Sqrt(w.squares / w.n)
			one.Min, one.Mean, one.Max, one.Std = &w.min, &w.mean, &w.max, &std
		}
		all = append(all, one)
	}
	return all
}

// summary says what the probe has got, and what it was too slow for.
func (p *probe) summary() string {
	stats := p.subscriber.Stats()
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s; %s left out because this probe was too slow (policy latest), %s lost",
		units.FormatNumber(p.messages, "message"), units.FormatCount(stats.LeftOut), units.FormatCount(stats.Lost))
	if p.unknown > 0 {
		text += fmt.Sprintf("; %s of more tags than the %d that it measures", units.FormatNumber(p.unknown, "message"), maxStreams)
	}
	return text
}
