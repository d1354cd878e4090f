// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/bridge/internal/natsserver"
	"tagbus/bus"
	"tagbus/tags"
)

// TestAServerThatHangs holds up no program that is asked to end.
func TestAServerThatHangs(t *testing.T) {
	server := natsserver.Start(t)
	makeStream(t, server.URL)
	here, there := t.TempDir(), t.TempDir()
	p, err := open(t, here).NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
	must(t, err)
	defer func() { must(t, p.Close()) }()
	s, err := open(t, there).NewSubscriber(bus.SubscriberConfig{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	came := make(chan struct{}, 1)
	_, err = s.Subscribe(tags.Of(1), func(bus.Message) { came <- struct{}{} })
	must(t, err)
	flags := []string{"--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--ack-timeout", "1s", "--json"}
	out := start(t, append([]string{"out", "--bus", here, "--tags", "1", "--drain-timeout", "300ms"}, flags...)...)
	follower := start(t, append([]string{"in", "--bus", there, "--follow"}, flags...)...)
	must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
	must(t, p.PublishContext(t.Context(), 1, make([]byte, 8)))
	p.Flush()
	<-came
	server.Stop()
	defer server.Continue()
	must(t, p.PublishContext(t.Context(), 1, make([]byte, 8)))
	p.Flush()
	for _, one := range []struct {
		*program
		code int
		text string
	}{{out, 1, "messages are not known to be stored"}, {follower, 0, ""}} {
		must(t, one.Process.Signal(syscall.SIGTERM))
		hung := time.AfterFunc(30*time.Second, func() { _ = one.Process.Kill() })
		if code, _ := one.wait(t); !hung.Stop() || code != one.code || !strings.Contains(one.err.String(), one.text) {
			t.Errorf("got status %d and\n%swant %d and %q, and no kill", code, one.err.String(), one.code, one.text)
		}
	}
}

// TestASignalEndsIn in order, with status 0 as the other programs, in the middle of the log, too.
func TestASignalEndsIn(t *testing.T) {
	server := natsserver.Start(t)
	makeStream(t, server.URL)
	here, there := t.TempDir(), t.TempDir()
	set := tags.Of(1, 2)
	p, err := open(t, here).NewPublisher(bus.PublisherConfig{Tags: set})
	must(t, err)
	publish := counting(t, p, set)
	log := []string{"--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--json"}
	out := start(t, append([]string{"out", "--bus", here, "--tags", "1-2"}, log...)...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	publish(3)
	must(t, p.Drain(t.Context()))
	must(t, p.Close())
	must(t, out.Process.Signal(syscall.SIGTERM))
	out.wait(t)

	ended := make(chan bus.Event, 1)
	s, err := open(t, there).NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
		if e.Kind == bus.Goodbye {
			ended <- e
		}
	}}})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	sub, err := s.Subscribe(set, func(bus.Message) {})
	must(t, err)
	in := start(t, append([]string{"in", "--bus", there, "--wait-subscribers", "2"}, log...)...)
	must(t, sub.Wait(t.Context()))
	must(t, in.Process.Signal(syscall.SIGTERM))
	if code, sum := in.wait(t); code != 0 || sum["messages"] != 0. || sum["ended_early"] != true {
		t.Errorf("got status %d and %v, want 0, and an early end; it said\n%s", code, sum, in.err.String())
	}
	if e := <-ended; e.Err != nil {
		t.Errorf("the subscriber is told of the failure %v, want none", e.Err)
	}
}

// TestASubscriberThatTakesNothing loses what was published when a signal ends in, which says so, with status 1.
func TestASubscriberThatTakesNothing(t *testing.T) {
	server := natsserver.Start(t)
	makeStream(t, server.URL)
	here, there := t.TempDir(), t.TempDir()
	set := tags.Of(1)
	p, err := open(t, here).NewPublisher(bus.PublisherConfig{Tags: set})
	must(t, err)
	log := []string{"--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--json"}
	out := start(t, append([]string{"out", "--bus", here, "--tags", "1"}, log...)...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	for range 80 { // 40 MB, more than what connections and a queue take
		must(t, p.PublishContext(t.Context(), 1, make([]byte, 512<<10)))
	}
	must(t, p.Drain(t.Context()))
	must(t, p.Close())
	must(t, out.Process.Signal(syscall.SIGTERM))
	out.wait(t)

	came := make(chan struct{}, 80)
	for _, slow := range []bool{true, false} {
		s, err := open(t, there).NewSubscriber(bus.SubscriberConfig{})
		must(t, err)
		defer func() { must(t, s.Close()) }()
		sub, err := s.Subscribe(set, func(bus.Message) { came <- struct{}{} })
		must(t, err)
		if slow {
			sub.Pause()
		}
	}
	in := start(t, append([]string{"in", "--bus", there, "--follow", "--wait-subscribers", "2"}, log...)...)
	select {
	case <-came:
	case <-time.After(time.Minute):
		t.Fatalf("nothing comes in a minute; it said\n%s", in.err.String())
	}
	must(t, in.Process.Signal(syscall.SIGTERM))
	code, sum := in.wait(t)
	missing, _ := sum["undelivered"].(float64)
	unknown, _ := sum["unconfirmed"].(float64)
	if code != 1 || missing+unknown == 0 || !strings.Contains(in.err.String(), "ended before subscribers had taken all that was published") {
		t.Errorf("got status %d, %v and\n%swant 1, with what is undelivered or unconfirmed", code, sum, in.err.String())
	}
}
