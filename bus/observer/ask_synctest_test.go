// SPDX-License-Identifier: Apache-2.0

package observer_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// An answer is that of the instance, and its connection is kept for the next question.
func TestQuestionsShareAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "daq"}})
		o, host := b.observer(observer.Config{})
		e := b.entry(p.Instance())
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				s, err := o.Ask(t.Context(), e, state.Question{Peers: 1})
				if err != nil || s.Instance != p.Instance() || s.Name != "daq" || s.Version != state.Version {
					t.Errorf("got %+v and error %v, want the state of %s", s, err, p.Instance())
				}
			})
		}
		wg.Wait()
		if got := b.connections(host).ever; got != 1 {
			t.Errorf("got %d connections, want 1", got)
		}
		if got := len(p.Stats().Subscribers); got != 0 {
			t.Errorf("an observer counts as a subscriber: got %d", got)
		}
		time.Sleep(61 * time.Second) // the publisher has closed it meanwhile
		_, err := o.Ask(t.Context(), e, state.Question{})
		must(t, err)
		if got := b.connections(host).ever; got != 2 {
			t.Errorf("after a minute: got %d connections, want 2", got)
		}
	})
}

// refusal is what answers a hello for a reason.
func refusal(t *testing.T, reason string) map[byte][][]byte {
	return map[byte][][]byte{'T': {control(t, &subscription.Refused{Reason: reason})}}
}

// answers is what an observed stranger answers to the first question.
func answers(t *testing.T, instance, text string) map[byte][][]byte {
	var parts [][]byte
	for part := range slices.Chunk([]byte(text), 10_000) {
		m := &subscription.Description{ID: 1, Part: part, More: true}
		parts = append(parts, control(t, m))
	}
	last := &subscription.Description{ID: 1, Part: []byte(" ")}
	return map[byte][][]byte{'T': {helloOf(t, instance)}, byte(subscription.KindDescribe): append(parts, control(t, last))}
}

// What is wrong has an error of its own, and its text says what to do.
func TestWhyThereIsNoAnswer(t *testing.T) {
	const good = `{"state_version":1,"instance":"stranger","future":{"x":[1,2]}}`
	version := hello2(t)
	tests := []struct {
		name  string
		reply map[byte][][]byte
		quits bool
		want  error  // nil: the answer is good
		text  string // of the error, in part
	}{
		{"a good answer with unknown fields", answers(t, "stranger", good), false, nil, ""},
		{"a good answer in parts", answers(t, "stranger", strings.Repeat(" ", 100_000)+good), false, nil, ""},
		{"an older version", refusal(t, "bus: protocol violation: a observer has dialed a publisher"), false, observer.ErrNotObservable, "a observer has dialed a publisher"},
		{"a policy", refusal(t, `cn:x may not ask for the state of anything here: no rule such as {"who":"cn:x","describe":"TAGS"}`), false, observer.ErrDenied, `{"who":"cn:x"`},
		{"a hostile reason", refusal(t, "\x1b[31m"), false, observer.ErrNotObservable, `\x1b[31m`},
		{"another version of the protocol", map[byte][][]byte{'T': {version}}, false, observer.ErrNotObservable, "version"},
		{"another instance", answers(t, "other", good), false, bus.ErrStaleEntry, "stale"},
		{"no hello", map[byte][][]byte{'T': {[]byte("HTTP/1.1 400 Bad Request")}}, false, bus.ErrProtocol, ""},
		{"another version of the state", answers(t, "stranger", `{"state_version":2}`), false, &observer.VersionError{Got: 2, Want: 1}, "observer: the answer has version 2 of the state, this program knows 1: use the tagbus of the newer one of both"},
		{"no JSON", answers(t, "stranger", `{"state_version":1`), false, bus.ErrProtocol, "unexpected end of JSON input"},
		{"the state of another one", answers(t, "stranger", `{"state_version":1,"instance":"other"}`), false, bus.ErrProtocol, "answer of other, want stranger"},
		{"more elements than were asked for", answers(t, "stranger", `{"state_version":1,"peers":[`+strings.Repeat(`{},`, 40_000)+`{}]}`), false, bus.ErrProtocol, "elements"},
		{"more bytes than there may be", answers(t, "stranger", strings.Repeat(" ", observer.MaxAnswerBytes)), false, bus.ErrProtocol, "an answer of more than 33554432 bytes"},
		{"a long text", answers(t, "stranger", `{"state_version":1,"instance":"stranger","name":"`+strings.Repeat("n", 5_000_000)+`"}`), false, bus.ErrProtocol, "a text of more than 4096 bytes"},
		{"a long number", answers(t, "stranger", `{"state_version":1,"instance":"stranger","pid":1`+strings.Repeat("0", 5_000_000)+`}`), false, bus.ErrProtocol, "a text of more than 4096 bytes"},
		{"a long time", answers(t, "stranger", `{"state_version":1,"instance":"stranger","since":"`+strings.Repeat("2", 5_000_000)+`"}`), false, bus.ErrProtocol, "a text of more than 4096 bytes"},
		{"texts that are as long as they may be", answers(t, "stranger", `{"state_version":1,"instance":"stranger","tags":"`+strings.Repeat("2", 4096)+`","future":"`+strings.Repeat("2", 4000)+`"}`), false, nil, ""},
		{"too deep", answers(t, "stranger", `{"x":`+strings.Repeat("[", 1000)), false, bus.ErrProtocol, "nested deeper"},
		{"a refused question", map[byte][][]byte{'T': {helloOf(t, "stranger")}, byte(subscription.KindDescribe): {control(t, &subscription.Refused{ID: 1, Reason: "bad set"})}}, false, observer.ErrRefused, "bad set"},
		{"an answer to another question", map[byte][][]byte{'T': {helloOf(t, "stranger")}, byte(subscription.KindDescribe): {control(t, &subscription.Description{ID: 2, Part: []byte(good)})}}, false, bus.ErrProtocol, "question 2"},
		{"what only a subscriber is sent", map[byte][][]byte{'T': {helloOf(t, "stranger")}, byte(subscription.KindDescribe): {control(t, &subscription.Subscribed{ID: 1})}}, false, bus.ErrProtocol, "subscribed"},
		{"no control message", map[byte][][]byte{'T': {helloOf(t, "stranger")}, byte(subscription.KindDescribe): {{0x7f}}}, false, bus.ErrProtocol, ""},
		{"the end of the connection", map[byte][][]byte{'T': {helloOf(t, "stranger")}, byte(subscription.KindDescribe): {control(t, &subscription.Description{ID: 1, Part: []byte("{"), More: true})}}, true, observer.ErrLost, "EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := &stranger{reply: test.reply, quits: test.quits}
				e := b.listen(x)
				o, _ := b.observer(observer.Config{})
				s, err := o.Ask(t.Context(), e, state.Question{})
				version := (*observer.VersionError)(nil)
				switch {
				case test.want == nil:
					if err != nil || s.Instance != "stranger" {
						t.Errorf("got %+v and error %v, want an answer", s, err)
					}
				case errors.As(test.want, &version):
					if got := (*observer.VersionError)(nil); !errors.As(err, &got) || *got != *version {
						t.Errorf("got error %v, want %v", err, version)
					}
				case !errors.Is(err, test.want):
					t.Errorf("got error %v, want %v", err, test.want)
				}
				if err != nil && !strings.Contains(err.Error(), test.text) {
					t.Errorf("got error %q, want one with %q", err, test.text)
				}
			})
		})
	}
}

// hello2 is the hello of another version of the protocol.
func hello2(t *testing.T) []byte {
	b := helloOf(t, "stranger")
	b[6]++
	return b
}

// A question takes no longer than it may, wherever it is stuck, and says where.
func TestAQuestionEndsInTime(t *testing.T) {
	tests := []struct {
		name  string
		reply map[byte][][]byte
		cut   bool
		want  string
	}{
		{"no connection", nil, true, "observer: no answer in time: no connection within 3s"},
		{"no hello", nil, false, "observer: no answer in time: it has not said hello within 3s"},
		{"no answer", map[byte][][]byte{'T': {helloOf(t, "stranger")}}, false, "observer: no answer in time: it has not answered the question within 3s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				e := b.listen(&stranger{reply: test.reply})
				o, host := b.observer(observer.Config{Timeout: 3 * time.Second})
				if test.cut {
					b.net.Partition(anyPort(host), anyPort(e.Addresses[0].Addr()))
				}
				begun := time.Now()
				_, err := o.Ask(t.Context(), e, state.Question{})
				if took := time.Since(begun); !errors.Is(err, observer.ErrTimeout) || err.Error() != test.want || took != 3*time.Second {
					t.Errorf("got error %q after %v, want %q after 3s", err, took, test.want)
				}
				time.Sleep(10 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				begun = time.Now()
				if _, err = o.Ask(ctx, e, state.Question{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
					t.Errorf("with a context: got error %v after %v, want its own after 1s", err, time.Since(begun))
				}
				time.Sleep(10 * time.Second)
				if open := b.connections(host).now; open != 0 {
					t.Errorf("got %d open connections, want none: an answer may still come on them", open)
				}
			})
		})
	}
}

// A question that is given up does not end those behind it.
func TestAQuestionBehindOneThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{})
		e := b.entry(p.Instance())
		o, host := b.observer(observer.Config{})
		b.net.Stall(anyPort(host), anyPort(e.Addresses[0].Addr()))
		ctx, cancel := context.WithCancelCause(t.Context())
		given := errors.New("given up")
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := o.Ask(ctx, e, state.Question{}); !errors.Is(err, given) {
				t.Errorf("got error %v, want %v", err, given)
			}
		})
		time.Sleep(time.Second)
		wg.Go(func() {
			if _, err := o.Ask(t.Context(), e, state.Question{}); err != nil {
				t.Errorf("behind it: got error %v, want none", err)
			}
		})
		time.Sleep(time.Second)
		cancel(given)
		time.Sleep(time.Second)
		b.net.Resume(anyPort(host), anyPort(e.Addresses[0].Addr()))
		wg.Wait()
	})
}

// Of several addresses the one that answers counts, without a wait for the others.
func TestTheAddressThatAnswersCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{})
		other := b.publisher(bus.PublisherConfig{})
		e := b.entry(p.Instance())
		dead, slow := netip.MustParseAddrPort("10.9.0.1:1"), netip.MustParseAddrPort("10.9.0.2:1")
		o, host := b.observer(observer.Config{})
		b.net.Partition(anyPort(host), anyPort(slow.Addr()))
		e.Addresses = []netip.AddrPort{slow, dead, other.Addr(), p.Addr()}
		begun := time.Now()
		if _, err := o.Ask(t.Context(), e, state.Question{}); err != nil || time.Since(begun) > time.Second {
			t.Errorf("got error %v after %v, want an answer within a second", err, time.Since(begun))
		}
		e.Instance, e.Addresses = "nobody", []netip.AddrPort{dead, other.Addr()}
		_, err := o.Ask(t.Context(), e, state.Question{})
		var op *netio.OpError
		if !errors.As(err, &op) || !errors.Is(err, bus.ErrStaleEntry) {
			t.Errorf("got error %v, want that of each address", err)
		}
	})
}

// Two entries with one address are asked in turn: the stale one does not keep the address.
func TestTwoEntriesWithOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{})
		o, host := b.observer(observer.Config{})
		e := b.entry(p.Instance())
		stale := e
		stale.Instance = "gone"
		from, to := anyPort(host), anyPort(p.Addr().Addr())
		for i := range 3 {
			b.net.SetDelay(from, to, time.Duration(i)*100*time.Millisecond)
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := o.Ask(t.Context(), e, state.Question{}); err != nil {
					t.Errorf("got error %v, want none", err)
				}
			})
			time.Sleep(time.Duration(i) * 10 * time.Millisecond) // the other one has the address
			wg.Go(func() {
				if _, err := o.Ask(t.Context(), stale, state.Question{}); !errors.Is(err, bus.ErrStaleEntry) {
					t.Errorf("got error %v, want %v", err, bus.ErrStaleEntry)
				}
			})
			wg.Wait()
			_, err := o.Ask(t.Context(), e, state.Question{})
			must(t, err)
			if _, err = o.Ask(t.Context(), stale, state.Question{}); !errors.Is(err, bus.ErrStaleEntry) {
				t.Errorf("after the other one: got error %v, want %v", err, bus.ErrStaleEntry)
			}
		}
	})
}

// A publisher that starts again at its address is another instance. The connection to the
// one before has ended, and the next question dials by itself.
func TestAPublisherStartsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		o, _ := b.observer(observer.Config{})
		p := b.publisher(bus.PublisherConfig{})
		at, old := p.Addr(), b.entry(p.Instance())
		_, err := o.Ask(t.Context(), old, state.Question{})
		must(t, err)
		must(t, p.Close())
		again, err := bus.NewPublisher(b.opener(at.Addr()), b.dir, bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: at}})
		must(t, err)
		defer func() { must(t, again.Close()) }()
		if _, err = o.Ask(t.Context(), old, state.Question{}); !errors.Is(err, bus.ErrStaleEntry) {
			t.Errorf("the old entry: got error %v, want %v", err, bus.ErrStaleEntry)
		}
		if _, err = o.Ask(t.Context(), b.entry(again.Instance()), state.Question{}); err != nil {
			t.Errorf("the new entry: got error %v, want none", err)
		}
	})
}

// A question that was asked on a kept connection as that ended is asked again on another one,
// once. On a new connection it fails.
func TestAConnectionEndsDuringAQuestion(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("kept %t", kept), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{})
				e := b.entry(p.Instance())
				o, host := b.observer(observer.Config{Timeout: time.Minute})
				from, to := anyPort(host), anyPort(p.Addr().Addr())
				if kept {
					_, err := o.Ask(t.Context(), e, state.Question{})
					must(t, err)
				}
				b.net.SetDelay(from, to, time.Second)
				done := make(chan error)
				begun := time.Now()
				go func() {
					_, err := o.Ask(t.Context(), e, state.Question{})
					done <- err
				}()
				wait := 500 * time.Millisecond // the question is on its way
				if !kept {
					wait = 2500 * time.Millisecond // after those of the connection and the hello
				}
				time.Sleep(wait)
				b.net.Reset(from, to)
				err := <-done
				if kept && (err != nil || b.connections(host).ever != 2) {
					t.Errorf("got error %v with %d connections, want none with 2", err, b.connections(host).ever)
				}
				if !kept && (!errors.Is(err, observer.ErrLost) || time.Since(begun) != wait) {
					t.Errorf("got error %v after %v, want %v at once", err, time.Since(begun), observer.ErrLost)
				}
			})
		})
	}
}

// No more connections than may be are kept, and a question waits for one.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, all = 3, 10
		b := newBed(t)
		o, host := b.observer(observer.Config{MaxConnections: most})
		var publishers []*bus.Publisher
		for range all {
			publishers = append(publishers, b.publisher(bus.PublisherConfig{}))
		}
		for _, p := range publishers { // one after another: those that are kept give way
			_, err := o.Ask(t.Context(), b.entry(p.Instance()), state.Question{})
			must(t, err)
		}
		for range 2 {
			var wg sync.WaitGroup
			for _, p := range publishers {
				wg.Go(func() {
					if _, err := o.Ask(t.Context(), b.entry(p.Instance()), state.Question{}); err != nil {
						t.Errorf("got error %v, want none", err)
					}
				})
			}
			wg.Wait()
			if got := b.connections(host); got.most > most || got.now == 0 {
				t.Errorf("got at most %d connections, and %d now, want 1 to %d", got.most, got.now, most)
			}
		}
	})
}

// Close ends the questions under way, and the second call does nothing.
func TestCloseEndsQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		e := b.listen(&stranger{reply: map[byte][][]byte{'T': {helloOf(t, "stranger")}}})
		o, _ := b.observer(observer.Config{})
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() {
				if i == 0 {
					_, errs[0] = o.Greet(t.Context(), e, netip.MustParseAddrPort("10.9.0.2:1"))
					return
				}
				_, errs[i] = o.Ask(t.Context(), e, state.Question{})
			})
		}
		b.net.Partition(netip.AddrPort{}, anyPort(netip.MustParseAddr("10.9.0.2")))
		time.Sleep(time.Second)
		must(t, o.Close())
		must(t, o.Close())
		wg.Wait()
		_, err := o.Ask(t.Context(), e, state.Question{})
		_, greetErr := o.Greet(t.Context(), e, e.Addresses[0])
		for i, err := range append(slices.Clone(errs), err, greetErr) {
			if i > 0 && !errors.Is(err, observer.ErrClosed) {
				t.Errorf("%d: got error %v, want %v", i, err, observer.ErrClosed)
			}
		}
	})
}
