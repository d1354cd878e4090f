// SPDX-License-Identifier: Apache-2.0

package in_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/in"
	"tagbus/bus"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// slow adds a subscriber that takes nothing, and returns what makes it take all, and how many messages it has got.
func (s *site) slow() (resume func(), got func() int) {
	s.t.Helper()
	sub, err := bus.NewSubscriber(s.network.Opener(s.loop(), memnet.Config{Host: netip.MustParseAddr("10.0.0.3")}), s.dir, bus.SubscriberConfig{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = sub.Close() })
	n := 0
	slow, err := sub.Subscribe(tags.Of(1), func(bus.Message) { n++ })
	if err != nil {
		s.t.Fatal(err)
	}
	slow.Pause()
	return slow.Resume, func() int { synctest.Wait(); return n }
}

// ending is a run that is ended while a subscriber takes nothing.
type ending struct {
	*fill
	site   *site
	resume func()
	got    func() int
	hurry  context.CancelFunc
	end    func() (report in.Report, took time.Duration, err error)
}

// endSlowly begins to publish 300 messages of 1 KB, and ends that after a while.
func endSlowly(t *testing.T, cfg in.Config) (e ending) {
	t.Helper()
	f, s := newFill(t), newSite(t)
	e.fill, e.site = f, s
	var all []string
	for i := range 300 {
		all = append(all, fmt.Sprintf("%01000d", i))
	}
	f.messages(1, 1, time.Now(), all...)
	e.resume, e.got = s.slow()
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Subscribers = 2
	cfg.Hurry, e.hurry = context.WithCancel(t.Context())
	var report in.Report
	done := make(chan error, 1)
	go func() {
		var err error
		report, err = in.Run(ctx, s, f.log, cfg)
		done <- err
	}()
	time.Sleep(10 * time.Second)
	began := time.Now()
	cancel()
	e.end = func() (in.Report, time.Duration, error) {
		err := <-done
		e.hurry()
		return report, time.Since(began), err
	}
	return e
}

// TestRun_endedWhileASubscriberIsSlow has an error: what it has published is lost for that one. With a position the next run publishes it again.
func TestRun_endedWhileASubscriberIsSlow(t *testing.T) {
	for _, test := range []struct {
		name             string
		follow, position bool
	}{{"follow", true, false}, {"to the end", false, false}, {"follow with a position", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var cfg in.Config
				cfg.Query.Follow = test.follow
				if test.position {
					cfg.Position = filepath.Join(dir, "position")
				}
				e := endSlowly(t, cfg)
				report, took, err := e.end()
				if took != 5*time.Second || errors.Is(err, in.ErrNotTaken) == test.position || test.follow && test.position && err != nil {
					t.Errorf("got %v after %v, want ErrNotTaken, unless there is a position, after 5s", err, took)
				}
				if n := e.got(); report.Messages != 300 || report.Undelivered+report.Unconfirmed != 300-uint64(n) || n == 300 {
					t.Errorf("got %+v of 300 messages, and %d at the slow subscriber, want the others undelivered or unconfirmed", report, n)
				}
				if !test.position {
					return
				}
				e.resume()
				cfg.Query.Follow, cfg.Subscribers = false, 2
				if report, err := e.site.run(e.log, cfg); err != nil || e.got() < 300 {
					t.Errorf("the next run: got %+v, %v, and %d messages, want all", report, err, e.got())
				}
			})
		})
	}
}

// TestRun_endedWhileASubscriberIsSlow_hurry: what ends Config.Hurry waits for nothing.
func TestRun_endedWhileASubscriberIsSlow_hurry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endSlowly(t, in.Config{})
		time.Sleep(2 * time.Second)
		e.hurry()
		if report, took, err := e.end(); took != 2*time.Second || !errors.Is(err, in.ErrNotTaken) || report.Messages != 300 {
			t.Errorf("got %+v, %v after %v, want 300 messages and ErrNotTaken after 2s", report, err, took)
		}
	})
}

// TestRun_endedAtItsEnd: subscribers have 5 seconds, also if all is published already.
func TestRun_endedAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := endSlowly(t, in.Config{})
		time.Sleep(2 * time.Second)
		e.resume()
		if report, took, err := e.end(); took < 2*time.Second || took > 3*time.Second || err != nil || report.Undelivered+report.Unconfirmed > 0 || e.got() != 300 {
			t.Errorf("got %+v, %v after %v, and %d messages, want all after 2s, and no error", report, err, took, e.got())
		}
	})
}
