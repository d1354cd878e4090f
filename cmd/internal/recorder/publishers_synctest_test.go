// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"errors"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// TestAnAcknowledgementBehindTheEnd: the messages that reach the count may come before the
// acknowledgement is told. Their publisher is counted, and the recording has it.
func TestAnAcknowledgementBehindTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --duration 1m", new(fakeDisk))
		b.must(b.during(t.Context(), func() {
			synctest.Wait()
			b.run.onLoop(func() {
				b.run.leaving = map[string]bool{"late": true}
				b.run.onEvent(bus.Event{Kind: bus.Subscribed, Peer: &bus.Peer{Instance: "late"}})
				b.run.leaving = nil
			})
			if seen := b.run.presence.Seen(); seen != 2 {
				t.Errorf("got %d publishers, want 2", seen)
			}
		}))
		if joined := b.events(recording.Joined); len(joined) != 2 || joined[1].Peer.Instance != "late" {
			t.Errorf("got %v, want that the late one has joined", joined)
		}
	})
}

// TestAPublisherThatVanishes: what is missing is unknown, and the recording is not whole.
func TestAPublisherThatVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5-6 run.tbr --duration 1m", new(fakeDisk))
		err := b.during(t.Context(), func() {
			b.publish(10)
			synctest.Wait()
			b.network.Kill(b.publisher.Addr().Addr())
		})
		s, _ := b.check(err, 1, false)
		if s.Messages != 10 || s.Away+s.Vanished != 1 {
			t.Errorf("got %+v, want 10 messages, and a publisher away", s)
		}
	})
}

// TestTheRecordingSaysWhatTheSummarySays of publishers that come and go: check compares them.
func TestTheRecordingSaysWhatTheSummarySays(t *testing.T) {
	lost, back := bus.Event{Kind: bus.Lost, Err: errors.New("silent")}, bus.Event{Kind: bus.Resubscribed, Tags: tags.Of(5, 6)}
	joined, vanished := bus.Event{Kind: bus.Subscribed, Tags: tags.Of(5, 6)}, bus.Event{Kind: bus.Vanished}
	tests := []struct {
		name   string
		events []bus.Event // of another publisher, which is connected
		whole  bool
	}{
		{"it acknowledged nothing", []bus.Event{lost}, true},
		{"it is away", []bus.Event{joined, lost}, false},
		{"it is back", []bus.Event{joined, lost, back}, true},
		{"it has vanished", []bus.Event{joined, lost, vanished}, false},
		{"it has vanished, and is back", []bus.Event{joined, lost, vanished, back}, true},
		{"it has vanished again", []bus.Event{joined, vanished, back, vanished}, false},
		{"it has vanished, and what is back acknowledged nothing", []bus.Event{joined, vanished, lost}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, "5-6 run.tbr --duration 1m", new(fakeDisk))
				err := b.during(t.Context(), func() {
					b.publish(10)
					synctest.Wait()
					b.run.onLoop(func() {
						other := &bus.Peer{Instance: "other", Name: "other"}
						b.run.onEvent(bus.Event{Kind: bus.Connected, Peer: other})
						for _, e := range test.events {
							e.Peer = other
							b.run.onEvent(e)
						}
					})
				})
				code := 1
				if test.whole {
					code = 0
				}
				b.check(err, code, test.whole)
			})
		})
	}
}
