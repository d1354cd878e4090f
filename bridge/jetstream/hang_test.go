// SPDX-License-Identifier: Apache-2.0

package jetstream_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
	"tagbus/tags"
)

// patience is for a busy machine. What nats.go waits by default are minutes.
const patience = 20 * time.Second

// within fails the test unless f returns in time.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s does not return within %v", what, patience)
	}
}

// hanging returns a log of a server, with 84 MB: a reader asks for 32 MiB ahead, and on a busy machine all of that arrives before
// the first record is handled.
func hanging(t *testing.T) (*natsserver.Server, *jetstream.Log) {
	t.Helper()
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	patient := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS", AckTimeout: patience})
	if err := errors.Join(appendMany(patient, 320, make([]byte, 256<<10)), patient.Close()); err != nil {
		t.Fatal(err)
	}
	return s, open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS", AckTimeout: time.Second})
}

// appendMany appends records of many keys, and returns an error that one of them had.
func appendMany(log durable.Log, n int, data []byte) (failed error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		all.Add(1)
		log.Append(durable.Append{
			Key: durable.Key{Tag: tags.Tag(i), Instance: "MANY"}, ID: fmt.Sprint(len(data), i), Data: data,
			Done: func(_ durable.Position, err error) {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
				all.Done()
			},
		})
	}
	all.Wait()
	return failed
}

// TestLog_whileTheServerHangs and takes no more bytes: each append is done with an error, and Close returns.
func TestLog_whileTheServerHangs(t *testing.T) {
	t.Parallel()
	s, log := hanging(t)
	s.Stop()
	defer s.Continue()
	within(t, "Append", func() {
		if err := appendMany(log, 64, make([]byte, log.MaxRecordBytes())); err == nil {
			t.Error("got no error of 64 MB to a server that reads none")
		}
	})
	within(t, "Close", func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLog_Read_whileTheServerHangs ends with an error, also when it follows, and when what is here is handled so late that the
// connection is given up before anything is missed.
func TestLog_Read_whileTheServerHangs(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]bool{"to the end": false, "follow": true, "follow late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, log := hanging(t)
			defer s.Continue()
			within(t, "Read", func() {
				got := 0
				for _, err := range log.Read(t.Context(), durable.Query{Follow: follow}) {
					if err != nil {
						if errors.Is(err, durable.ErrRefused) || got == 0 {
							t.Errorf("got %v after %d records, want an error that may go", err, got)
						}
						return
					}
					if got++; got == 1 {
						s.Stop()
						if name == "follow late" {
							<-time.After(1500 * time.Millisecond) // of 2 to 3 s
						}
					}
				}
				t.Errorf("got %d records and no error", got)
			})
			within(t, "Close", func() { _ = log.Close() })
		})
	}
}
