// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/tags"
)

// TestLog_whileTheBrokerIsAway fails in time, and works again when it is back. Nothing is there twice.
func TestLog_whileTheBrokerIsAway(t *testing.T) {
	s := kafkaserver.Start(t)
	cfg, _ := topic(t, s.Brokers, 1)
	cfg.AckTimeout = time.Second
	log := open(t, cfg)
	at := must(t, log, "ALICE", 0, "1")
	s.Kill()
	begun := time.Now()
	if _, err := appendOne(log, "ALICE", at, "2"); err == nil || errors.Is(err, durable.ErrRefused) {
		t.Errorf("got %v without a broker, want an error that may go", err)
	}
	if _, err := log.Last(t.Context(), durable.Key{Tag: 1, Instance: "ALICE"}); err == nil || errors.Is(err, durable.ErrRefused) {
		t.Errorf("got %v from Last without a broker, want an error that may go", err)
	}
	for _, err := range log.Read(t.Context(), durable.Query{Follow: true}) {
		if err == nil || errors.Is(err, durable.ErrRefused) {
			t.Errorf("got %v from Read without a broker, want an error that may go", err)
		}
	}
	if took := time.Since(begun); took > 20*cfg.AckTimeout {
		t.Errorf("the errors took %v, want about %v each", took, cfg.AckTimeout)
	}
	s.Restart()
	again(t, log, at)
	if got := read(t, log, durable.Query{}); strings.Join(got, " ") != "1 2" {
		t.Errorf("got %q, want two records", got)
	}
}

// again appends the text "2" until it is stored, as a bridge does.
func again(t *testing.T, log durable.Log, after durable.Position) {
	t.Helper()
	for {
		_, err := appendOne(log, "ALICE", after, "2")
		switch {
		case err == nil:
			return
		case errors.Is(err, durable.ErrConflict):
			if e, err := log.Last(t.Context(), durable.Key{Tag: 1, Instance: "ALICE"}); err == nil && string(e.Data) == "2" {
				return
			}
		case errors.Is(err, durable.ErrRefused), t.Context().Err() != nil:
			t.Fatal(err)
		}
	}
}

// TestLog_Append_toABrokerThatHangs ends with an error in time.
func TestLog_Append_toABrokerThatHangs(t *testing.T) {
	s := kafkaserver.Start(t)
	cfg, _ := topic(t, s.Brokers, 1)
	cfg.AckTimeout = time.Second
	log := open(t, cfg)
	at := must(t, log, "ALICE", 0, "1")
	s.Stop()
	_, err := appendOne(log, "ALICE", at, "2")
	s.Continue()
	if err == nil || errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "no answer in time") {
		t.Errorf("got %v, want a timeout", err)
	}
	again(t, log, at)
	if got := read(t, log, durable.Query{}); strings.Join(got, " ") != "1 2" {
		t.Errorf("got %q, want two records", got)
	}
}

// TestLog_Append_ofManyKeysWhileTheBrokerIsAway fails in the time of one, and not one transaction after the other.
func TestLog_Append_ofManyKeysWhileTheBrokerIsAway(t *testing.T) {
	s := kafkaserver.Start(t)
	cfg, _ := topic(t, s.Brokers, 1)
	cfg.AckTimeout = time.Second
	log := open(t, cfg)
	must(t, log, "ALICE", 0, "1")
	s.Kill()
	begun := time.Now()
	var all sync.WaitGroup
	const keys = 100_000 // 25 transactions
	all.Add(keys)
	for i := range keys {
		log.Append(durable.Append{Key: durable.Key{Tag: tags.Tag(i), Instance: "BOB"}, Data: []byte("x"), Done: func(_ durable.Position, err error) {
			if err == nil || errors.Is(err, durable.ErrRefused) {
				t.Errorf("got %v without a broker, want an error that may go", err)
			}
			all.Done()
		}})
	}
	all.Wait()
	if took := time.Since(begun); took > 20*cfg.AckTimeout {
		t.Errorf("the errors took %v, want about %v", took, cfg.AckTimeout)
	}
}

// TestLog_Close_whileTheBrokerHangs returns in time, with an error of what was on its way.
func TestLog_Close_whileTheBrokerHangs(t *testing.T) {
	s := kafkaserver.Start(t)
	cfg, _ := topic(t, s.Brokers, 1)
	cfg.AckTimeout = time.Minute
	log := open(t, cfg)
	at := must(t, log, "ALICE", 0, "1")
	s.Stop()
	defer s.Continue()
	failed := make(chan error, 2)
	for _, instance := range []string{"ALICE", "BOB"} {
		log.Append(durable.Append{Key: durable.Key{Tag: 1, Instance: instance}, After: at, Data: []byte("x"), Done: func(_ durable.Position, err error) { failed <- err }})
		at = 0
	}
	begun := time.Now()
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > cfg.AckTimeout/2 {
		t.Errorf("Close took %v", took)
	}
	for range 2 {
		if err := <-failed; !errors.Is(err, durable.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
}
