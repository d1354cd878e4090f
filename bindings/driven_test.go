// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// TestMain makes this program what testdata/driven.c is, in Go, if it is asked to.
func TestMain(m *testing.M) {
	if os.Getenv("TAGBUS_TEST_DRIVEN") == "" {
		m.Run()
		return
	}
	d := driven{events: map[string]uint64{}, received: map[uint64]*received{}, published: map[uint64]uint64{}}
	d.changed.L = &d.mu
	var err error
	cfg := node.Config{Bus: os.Args[1]}
	if len(os.Args) > 2 {
		cfg.Backend = strings.TrimPrefix(os.Args[2], "--backend ")
	}
	d.node, err = node.Open(cfg)
	d.answer("ok", err)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := append(strings.SplitN(lines.Text(), " ", 3), "", "")
		d.answer(d.do(words[0], words[1], words[2]))
		if words[0] == "end" {
			return
		}
	}
}

// received is what has come of a tag.
type received struct {
	Got, Lost, First, Last uint64
	publisher              string
}

// driven is a publisher and a subscriber that do what the lines of the input say.
type driven struct {
	node         *node.Node
	publisher    *bus.Publisher
	subscriber   *bus.Subscriber
	subscription *bus.Subscription

	mu                           sync.Mutex
	changed                      sync.Cond
	received                     map[uint64]*received
	events                       map[string]uint64
	got, lost, wrong, disordered uint64
	held                         bool

	published map[uint64]uint64
	stop      atomic.Bool
	flooded   chan uint64
}

func (*driven) answer(result string, err error) {
	if err != nil {
		result = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	fmt.Println(result)
}

// account is what driven says of what came and what it knows of it.
type account struct {
	Wrong, Disordered uint64
	Tags              map[uint64]*received
	Published         map[uint64]uint64
	Events            map[string]uint64
	Publisher         *bus.PublisherStats
	Subscriber        *bus.SubscriberStats
}

func (d *driven) do(name, a, rest string) (string, error) {
	ctx := context.Background()
	switch name {
	case "publisher", "subscriber", "pull", "thread":
		return "ok", d.open(name, a, rest)
	case "acknowledged":
		return "ok", d.subscription.Wait(ctx)
	case "wait":
		return "ok", d.publisher.WaitSubscribers(ctx, int(number(a)), d.publisher.Tags())
	case "publish":
		last, count, _ := strings.Cut(rest, " ")
		return fmt.Sprintf("ok %d", d.publish(number(a), number(last), number(count))), nil
	case "flood":
		d.stop.Store(false)
		d.flooded = make(chan uint64, 1)
		go func() { d.flooded <- d.publish(number(a), number(rest), 1<<62) }()
		return "ok", nil
	case "stop":
		d.stop.Store(true)
		n := <-d.flooded
		d.stop.Store(false)
		return fmt.Sprintf("ok %d", n), nil
	case "flush":
		d.publisher.Flush()
		return "ok", nil
	case "drain":
		return "ok", d.publisher.Drain(ctx)
	case "serve", "withdraw", "add", "remove":
		return "ok", d.change(name, set(a))
	case "hold", "go":
		d.mu.Lock()
		defer d.mu.Unlock()
		d.held = name == "hold"
		d.changed.Broadcast()
		return "ok", nil
	case "until":
		d.until(a, number(rest))
		return "ok", nil
	case "account":
		return d.account()
	case "end":
		return "ok", d.node.Close()
	default:
		return "", fmt.Errorf("no command: %s %s %s", name, a, rest)
	}
}

// number returns what a text says, which the test has made.
func number(text string) uint64 {
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func set(text string) tags.Set {
	s, err := tags.ParseSet(text)
	if err != nil {
		panic(err)
	}
	return s
}

// option returns the value of an option, or another one if it is not there.
func option(options, name, otherwise string) string {
	words := strings.Fields(options)
	for i, word := range words {
		if word == "--"+name {
			return words[i+1]
		}
	}
	return otherwise
}

func (d *driven) open(what, a, options string) (err error) {
	common := bus.Common{OnEvent: d.note}
	switch what {
	case "publisher":
		cfg := bus.PublisherConfig{Common: common, Tags: set(a)}
		cfg.PageBytes, cfg.QueueBytes, cfg.PoolBytes = int(number(option(options, "page-bytes", "0"))), int(number(option(options, "queue-bytes", "0"))), int(number(option(options, "pool-bytes", "0")))
		cfg.MaxMessageBytes, cfg.MaxSubscribers = int(number(option(options, "max-message-bytes", "0"))), int(number(option(options, "max-subscribers", "0")))
		if at := option(options, "listen", ""); at != "" {
			cfg.Listen, cfg.Advertise = netip.MustParseAddrPort(at), []netip.AddrPort{netip.MustParseAddrPort(option(options, "advertise", at))}
		}
		d.publisher, err = d.node.NewPublisher(cfg)
	case "subscriber":
		d.subscriber, err = d.node.NewSubscriber(bus.SubscriberConfig{Common: common})
	default: // one way is as good as another one in Go
		var policy bus.Policy
		if policy, err = bus.ParsePolicy(option(options, "policy", "block")); err == nil {
			backlog := int(number(option(options, "backlog", "0")))
			d.subscription, err = d.subscriber.SubscribeBatch(set(a), d.take, bus.SubscriptionConfig{Policy: policy, BacklogBytes: backlog})
		}
	}
	return err
}

func (d *driven) change(how string, s tags.Set) error {
	switch how {
	case "serve":
		return d.publisher.AddTags(s)
	case "withdraw":
		return d.publisher.RemoveTags(s)
	case "add":
		return d.subscription.Add(s)
	default:
		return d.subscription.Remove(s)
	}
}
