// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"errors"
	"fmt"
	"testing"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

func TestEventOf_eventsOfTheBusBecomeThoseOfARecording(t *testing.T) {
	set := tags.Of(1, 2)
	failed := errors.New("failed")
	gap := func(err error) bus.Event {
		return bus.Event{Kind: bus.Gap, Peer: alice, Tag: 7, Count: 3, Err: err}
	}
	lost := func(c recording.Cause, text string) recording.Event {
		return recording.Event{Kind: recording.Gap, Peer: alice, Tag: 7, Count: 3, Cause: c, Text: text}
	}
	tests := []struct {
		event bus.Event
		want  recording.Event
	}{
		{bus.Event{Kind: bus.Subscribed, Peer: alice, Tags: set}, recording.Event{Kind: recording.Joined, Peer: alice, Tags: set}},
		{bus.Event{Kind: bus.Resubscribed, Peer: alice, Tags: set}, recording.Event{Kind: recording.Joined, Peer: alice, Tags: set}},
		{gap(bus.ErrTooSlow), lost(recording.CauseFull, "")},
		{gap(bus.ErrPublisherMemory), lost(recording.CauseMemory, "")},
		{gap(fmt.Errorf("more: %w", bus.ErrConnectionLost)), lost(recording.CauseConnection, "")},
		{gap(bus.ErrPublisherEnded), lost(recording.CauseEnded, "")},
		{gap(bus.ErrLeftOut), lost(recording.CauseLeftOut, "")},
		{gap(bus.ErrQueueFull), lost(recording.CauseQueueFull, "")},
		{gap(failed), lost(recording.CauseOther, "failed")},
		{bus.Event{Kind: bus.Lost, Peer: alice, Err: failed}, recording.Event{Kind: recording.Lost, Peer: alice, Text: "failed"}},
		{bus.Event{Kind: bus.Lost, Peer: alice}, recording.Event{}}, // left in order
		{bus.Event{Kind: bus.Goodbye, Peer: alice}, recording.Event{Kind: recording.Ended, Peer: alice}},
		{bus.Event{Kind: bus.Goodbye, Peer: alice, Err: failed}, recording.Event{Kind: recording.Ended, Peer: alice, Failed: true, Text: "failed"}},
		{bus.Event{Kind: bus.Vanished, Peer: alice, Tags: set}, recording.Event{Kind: recording.Vanished, Peer: alice}},
		{bus.Event{Kind: bus.Connected, Peer: alice}, recording.Event{}},
		{bus.Event{Kind: bus.Problem, Err: failed}, recording.Event{}},
	}
	for _, test := range tests {
		t.Run(test.event.String(), func(t *testing.T) {
			got, ok := recording.EventOf(test.event, start)
			if ok != (test.want.Kind != 0) {
				t.Fatalf("got an event: %v, want %v", ok, test.want.Kind != 0)
			}
			if ok {
				test.want.Time = start
			}
			if g, w := of(recording.Record{Event: &got}), of(recording.Record{Event: &test.want}); g != w {
				t.Errorf("got %+v, want %+v", g, w)
			}
		})
	}
}

func TestEvent_String_isALineForPeople(t *testing.T) {
	var many []tags.Tag
	for i := range tags.Tag(100) {
		many = append(many, 2*i)
	}
	const peer = "alice@host1:11 (10.0.0.1:4001)"
	const tag = "0x0000000000000001"
	tests := []struct {
		event recording.Event
		want  string
	}{
		{recording.Event{Kind: recording.Joined, Peer: alice, Tags: tags.Of(1)}, "joined " + peer + " tags " + tag},
		{recording.Event{Kind: recording.Position, Peer: alice, Tag: 1, Count: 5}, "position " + peer + " tag " + tag + " begins behind message 5"},
		{recording.Event{Kind: recording.Gap, Peer: alice, Tag: 1, Count: 5, Text: "what \n happened"}, "gap " + peer + " 5 messages of tag " + tag + ": other: what ;  happened"},
		{recording.Event{Kind: recording.Stopped, Failed: true, Text: "disk full"}, "stopped by a failure: disk full"},
		{recording.Event{Kind: 9}, "event 9"},
	}
	for _, test := range tests {
		if got := test.event.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	if got := (recording.Event{Kind: recording.Joined, Tags: tags.Of(many...)}).String(); len(got) > 200 {
		t.Errorf("got a line of %d bytes for many tags: %s", len(got), got)
	}
	if got := recording.Cause(99).String(); got != "cause 99" {
		t.Errorf("got %q, want cause 99", got)
	}
}

func TestCodec_hasATextForm(t *testing.T) {
	for _, want := range codecs {
		text, err := want.MarshalText()
		must(t, err)
		var got recording.Codec
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Errorf("%s: got %v and error %v", text, got, err)
		}
	}
	for _, text := range []string{"", "gzip", "codec 9"} {
		if _, err := recording.ParseCodec(text); !errors.Is(err, recording.ErrInvalidConfig) {
			t.Errorf("%q: got error %v, want %v", text, err, recording.ErrInvalidConfig)
		}
	}
	if got := recording.Codec(9).String(); got != "codec 9" {
		t.Errorf("got %q, want codec 9", got)
	}
}
