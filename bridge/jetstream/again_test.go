// SPDX-License-Identifier: Apache-2.0

package jetstream_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
)

// owner returns what the owner of a stream has.
func owner(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// await waits until a stream is as it is to be.
func await(t *testing.T, js natsjs.JetStream, name string, done func(natsjs.StreamState) bool) {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !done(stream.CachedInfo().State); {
		if _, err := stream.Info(t.Context()); err != nil || time.Now().After(end) {
			t.Fatalf("the stream is %+v, %v", stream.CachedInfo().State, err)
		}
	}
}

// TestLog_Read_slowly goes on when the servers have forgotten its place meanwhile, and has each record once.
func TestLog_Read_slowly(t *testing.T) {
	t.Parallel()
	for name, q := range map[string]durable.Query{
		"to the end": {Start: durable.Start{After: 10}},
		"follow":     {Follow: true, End: durable.End{Before: 320}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, hasty := hanging(t)
			_ = hasty.Close()
			log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS"})
			defer func() { _ = log.Close() }()
			log.SetInactive(time.Second)
			js := owner(t, s.URL)
			next := q.Start.After + 1
			for e, err := range log.Read(t.Context(), q) {
				if err != nil {
					t.Fatalf("got %v behind record %d", err, next-1)
				}
				if e.Position != next {
					t.Fatalf("got record %d, want %d", e.Position, next)
				}
				if next++; next == q.Start.After+2 {
					await(t, js, "TAGBUS", func(s natsjs.StreamState) bool { return s.Consumers == 0 }) // the reader is forgotten
				}
			}
			if next < 320 {
				t.Errorf("got records up to %d, want all", next-1)
			}
		})
	}
}

// TestLog_Read_ofAStreamThatIsMadeAgain is refused behind a record of the one before, also if the new one is longer.
func TestLog_Read_ofAStreamThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	fill(t, s.URL, 5)
	log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS"})
	defer func() { _ = log.Close() }()
	behind := make(map[string]durable.Position)
	for e, err := range log.Read(t.Context(), durable.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		behind[e.Part] = e.Position
	}
	if err := owner(t, s.URL).DeleteStream(t.Context(), "TAGBUS"); err != nil {
		t.Fatal(err)
	}
	makeStream(t, s.URL, nil)
	fill(t, s.URL, 8)
	for _, test := range []struct {
		name   string
		behind map[string]durable.Position
		want   int    // records
		text   string // of what is refused; empty: nothing
	}{
		{"behind the old stream", behind, 0, "it was deleted and made again"},
		{"behind a record that no stream is named of", map[string]durable.Position{"": 5}, 3, ""},
		{"behind one that there is not", map[string]durable.Position{"": 9}, 0, "it was deleted and made again"},
	} {
		got := 0
		var failed error
		for _, err := range log.Read(t.Context(), durable.Query{Start: durable.Start{Behind: test.behind}}) {
			if failed = err; err == nil {
				got++
			}
		}
		if got != test.want || (failed == nil) != (test.text == "") || failed != nil && (!errors.Is(failed, durable.ErrRefused) || !strings.Contains(failed.Error(), test.text)) {
			t.Errorf("%s: got %d records, %v, want %d, and %q", test.name, got, failed, test.want, test.text)
		}
	}
}

// TestLog_Read_ofAMirrorThatIsMadeAgain goes on, also behind a record of what it mirrors: it has the same numbers.
func TestLog_Read_ofAMirrorThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	fill(t, s.URL, 5)
	mirror := func(name string) *jetstream.Log {
		makeStream(t, s.URL, func(c *natsjs.StreamConfig) {
			c.Name, c.Subjects, c.Mirror = name, nil, &natsjs.StreamSource{Name: "TAGBUS"}
		})
		await(t, owner(t, s.URL), name, func(s natsjs.StreamState) bool { return s.Msgs == 5 })
		log := open(t, jetstream.Config{URL: s.URL, Stream: name})
		t.Cleanup(func() { _ = log.Close() })
		return log
	}
	log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS"})
	t.Cleanup(func() { _ = log.Close() })
	behind := make(map[string]durable.Position)
	for i, from := range []*jetstream.Log{log, mirror("COPY1"), mirror("COPY2")} {
		for e, err := range from.Read(t.Context(), durable.Query{Start: durable.Start{Behind: behind}, Follow: true}) {
			if err != nil || e.Position != durable.Position(i+1) {
				t.Errorf("got record %d, %v, want %d", e.Position, err, i+1)
			}
			behind[e.Part] = e.Position
			break
		}
	}
	if len(behind) != 2 {
		t.Errorf("got the parts %v, want that of the stream, and the one of mirrors", fmt.Sprint(behind))
	}
}
