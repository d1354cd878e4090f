// SPDX-License-Identifier: Apache-2.0

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/durable/durabletest"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// makeStream makes a stream, as its owner does.
func makeStream(t *testing.T, url string, change func(*natsjs.StreamConfig)) {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	cfg := natsjs.StreamConfig{Name: "TAGBUS", Subjects: []string{"tagbus.*.*"}}
	if change != nil {
		change(&cfg)
	}
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, cfg jetstream.Config) *jetstream.Log {
	t.Helper()
	log, err := jetstream.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestLog keeps the contract with one server. Each test has a stream of its own.
func TestLog(t *testing.T) {
	s := natsserver.Start(t)
	n := 0
	durabletest.Run(t, func(t *testing.T) func() durable.Log {
		n++
		name := fmt.Sprintf("S%d", n)
		makeStream(t, s.URL, func(c *natsjs.StreamConfig) { c.Name, c.Subjects = name, []string{name + ".>"} })
		return func() durable.Log {
			return open(t, jetstream.Config{URL: s.URL, Stream: name, Subject: name + ".{tag>>60}.{tag}.{instance}"})
		}
	})
}

// TestOpen_namesWhatDoesNotFit and what to do.
func TestOpen_namesWhatDoesNotFit(t *testing.T) {
	s := natsserver.Start(t, `max_payload: 64KB`)
	makeStream(t, s.URL, nil)
	for name, change := range map[string]func(*natsjs.StreamConfig){
		"OTHER": func(c *natsjs.StreamConfig) { c.Subjects = []string{"other.*.*"} },
		"WORK":  func(c *natsjs.StreamConfig) { c.Retention, c.Subjects = natsjs.WorkQueuePolicy, []string{"work.*.*"} },
		"SMALL": func(c *natsjs.StreamConfig) { c.MaxMsgSize, c.Subjects = 2000, []string{"small.*.*"} },
	} {
		makeStream(t, s.URL, func(c *natsjs.StreamConfig) { c.Name = name; change(c) })
	}
	locked := natsserver.Start(t, `authorization { users: [ {user: "bridge", password: "right"}, {user: "poor", password: "right", permissions: { publish: ["$JS.API.>"] }} ] }`)
	plain := strings.Replace(locked.URL, "nats://", "nats://bridge:right@", 1)
	makeStream(t, plain, nil)
	tests := []struct {
		name string
		cfg  jetstream.Config
		want error
		text string
	}{
		{"no stream", jetstream.Config{URL: s.URL, Stream: "NONE"}, durable.ErrRefused, "stream NONE does not exist: make it, as with nats stream add NONE --subjects 'tagbus.*.*'"},
		{"other subjects", jetstream.Config{URL: s.URL, Stream: "OTHER"}, durable.ErrRefused, `stream OTHER has the subjects ["other.*.*"], and not tagbus.*.*`},
		{"a queue", jetstream.Config{URL: s.URL, Stream: "WORK", Subject: "work.{tag}.{instance}"}, durable.ErrRefused, "retention"},
		{"a small limit", jetstream.Config{URL: s.URL, Stream: "SMALL", Subject: "small.{tag}.{instance}"}, durable.ErrRefused, "messages of 2000 bytes at most"},
		{"another domain", jetstream.Config{URL: s.URL, Stream: "TAGBUS", Domain: "elsewhere", AckTimeout: 200 * time.Millisecond}, nil, ""},
		{"no server", jetstream.Config{URL: "nats://127.0.0.1:1", Stream: "TAGBUS"}, nats.ErrNoServers, "connect to nats://127.0.0.1:1"},
		{"no credentials", jetstream.Config{URL: locked.URL, Stream: "TAGBUS"}, durable.ErrRefused, "credentials"},
		{"a wrong password", jetstream.Config{URL: locked.URL, Stream: "TAGBUS", User: "bridge", Password: "wrong"}, durable.ErrRefused, "credentials"},
		{"no file with credentials", jetstream.Config{URL: s.URL, Stream: "TAGBUS", NKey: "/does/not/exist"}, nil, "/does/not/exist"},
		{"an invalid configuration", jetstream.Config{}, jetstream.ErrInvalidConfig, "URL is empty"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log, err := jetstream.Open(t.Context(), test.cfg)
			if err == nil {
				_ = log.Close()
			}
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || strings.Contains(err.Error(), "wrong\"") {
				t.Errorf("got %v, want %v with %q", err, test.want, test.text)
			}
		})
	}
	t.Run("no permission to publish", func(t *testing.T) {
		log := open(t, jetstream.Config{URL: locked.URL, Stream: "TAGBUS", User: "poor", Password: "right"})
		defer func() { _ = log.Close() }()
		if _, err := appendOne(log, "ALICE", 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "needs to publish to tagbus.*.*") {
			t.Errorf("got %v, want what the user needs", err)
		}
	})
}

// appendOne appends a record with the instance as its key, and waits for the outcome.
func appendOne(log durable.Log, instance string, after durable.Position, text string) (at durable.Position, err error) {
	done := make(chan struct{})
	log.Append(durable.Append{
		Key: durable.Key{Tag: 1, Instance: instance}, After: after, ID: instance + text, Data: []byte(text),
		Done: func(p durable.Position, e error) { at, err = p, e; close(done) },
	})
	<-done
	return at, err
}

// TestConfig_Validate names each violation.
func TestConfig_Validate(t *testing.T) {
	err := jetstream.Config{
		Stream: "a.b", Subject: "x.{tag}", Domain: "a b", User: "u", Token: "secret", AckTimeout: -1,
	}.Validate()
	for _, want := range []string{"URL is empty", `Stream is "a.b"`, `Subject: "x.{tag}" lacks {tag} or {instance}`, `Domain is "a b"`, "2 ways to log in", "AckTimeout is -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if errors.Is(err, jetstream.ErrInvalidConfig) == strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want ErrInvalidConfig without the token", err)
	}
	for _, subject := range []string{"x.{tag}.{tag}.{instance}", "x..{tag}.{instance}", "x.*.{tag}.{instance}", "x{tag}.{instance}", "$x.{tag}.{instance}", "{tag>>6}.{tag}.{instance}", "{tag>>64}.{tag}.{instance}", "{tag>>16.{tag}.{instance}", "{tag>>16}.{instance}", ""} {
		err := jetstream.Config{URL: "nats://host", Stream: "S", Subject: subject}.Validate()
		if (err == nil) != (subject == "") {
			t.Errorf("subject %q: got %v", subject, err)
		}
	}
}

// TestLog_Append_whileTheServerIsAway fails soon, and works again when it is back. Nothing is there twice.
func TestLog_Append_whileTheServerIsAway(t *testing.T) {
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS", AckTimeout: time.Second})
	defer func() { _ = log.Close() }()
	at, err := appendOne(log, "ALICE", 0, "1")
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if _, err := appendOne(log, "ALICE", at, "2"); err == nil || errors.Is(err, durable.ErrRefused) {
		t.Errorf("got %v without a server, want an error that may go", err)
	}
	s.Restart()
	after := at
	for at == after {
		if at, err = appendOne(log, "ALICE", after, "2"); errors.Is(err, durable.ErrConflict) || errors.Is(err, durable.ErrRefused) {
			t.Fatal(err)
		} else if err != nil {
			at = after
		}
	}
	n := 0
	for _, err := range log.Read(t.Context(), durable.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("got %d records, want 2", n)
	}
}

// TestLog_Append_toAServerThatHangs ends with an error in time.
func TestLog_Append_toAServerThatHangs(t *testing.T) {
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS", AckTimeout: time.Second})
	defer func() { _ = log.Close() }()
	s.Stop()
	_, err := appendOne(log, "ALICE", 0, "1")
	s.Continue()
	if err == nil || errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "no acknowledgement in time") {
		t.Errorf("got %v, want a timeout", err)
	}
}

// TestLog_Read_ofWhatIsDropped names what there is.
func TestLog_Read_ofWhatIsDropped(t *testing.T) {
	s := natsserver.Start(t)
	makeStream(t, s.URL, func(c *natsjs.StreamConfig) { c.MaxMsgs = 2 })
	log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS"})
	defer func() { _ = log.Close() }()
	at := durable.Position(0)
	for i := range 5 {
		var err error
		if at, err = appendOne(log, "ALICE", at, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range log.Read(t.Context(), durable.Query{Start: durable.Start{After: 1}}) {
		var gap *durable.GapError
		if !errors.As(err, &gap) || gap.Want != 2 || gap.First != 4 || !strings.Contains(err.Error(), "start at 4") {
			t.Errorf("got %v, want a *durable.GapError of 2 and 4", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Last(ended, durable.Key{Instance: "ALICE"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// TestLog_ofAMirror is read as the stream that it mirrors, and takes nothing.
func TestLog_ofAMirror(t *testing.T) {
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	makeStream(t, s.URL, func(c *natsjs.StreamConfig) {
		c.Name, c.Subjects, c.Mirror = "COPY", nil, &natsjs.StreamSource{Name: "TAGBUS"}
	})
	log, mirror := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS"}), open(t, jetstream.Config{URL: s.URL, Stream: "COPY"})
	defer func() { _, _ = log.Close(), mirror.Close() }()
	at, err := appendOne(log, "ALICE", 0, "1")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range mirror.Read(t.Context(), durable.Query{Follow: true}) {
		if err != nil || e.Position != at || string(e.Data) != "1" {
			t.Errorf("got %q at %d, %v, want the record at %d", e.Data, e.Position, err, at)
		}
		break
	}
	if _, err := appendOne(mirror, "ALICE", at, "2"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "is a copy of stream TAGBUS") {
		t.Errorf("got %v, want ErrRefused that names the other stream", err)
	}
}

// TestLog_ofAStreamThatIsDeleted ends, and says what to do.
func TestLog_ofAStreamThatIsDeleted(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	log := open(t, jetstream.Config{URL: s.URL, Stream: "TAGBUS"})
	defer func() { _ = log.Close() }()
	conn, err := nats.Connect(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, _ := natsjs.New(conn)
	if err := js.DeleteStream(t.Context(), "TAGBUS"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !errors.Is(err, durable.ErrRefused); {
		if _, err = appendOne(log, "ALICE", 0, "1"); err == nil || time.Now().After(end) {
			t.Fatalf("got %v, want ErrRefused", err)
		}
	}
	if !strings.Contains(err.Error(), "stream TAGBUS does not exist: make it") {
		t.Errorf("got %v, want what to do", err)
	}
}
