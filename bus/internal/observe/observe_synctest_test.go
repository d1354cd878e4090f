// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/internal/observe"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// large returns a state of more bytes than so many.
func large(bytes int) state.State {
	s := state.State{Version: state.Version, Name: strings.Repeat("x", 1000)}
	for n := 0; n < bytes; n += 1000 {
		s.Addresses = append(s.Addresses, strings.Repeat("y", 1000))
	}
	return s
}

// An answer is that of the question, whatever its size.
func TestAnAnswerIsWhole(t *testing.T) {
	set, err := tags.Of(5, 7).MarshalBinary()
	must(t, err)
	for _, test := range []struct {
		name  string
		ask   subscription.Describe
		state state.State // nil text: what the question says
		want  string
	}{
		{"what is asked for", subscription.Describe{ID: 1, Peers: 7, Set: set}, state.State{}, ""},
		{"no more than may be", subscription.Describe{ID: 1, Peers: subscription.MaxDescribed}, state.State{}, ""},
		{"a byte", subscription.Describe{ID: 9}, large(1), ""},
		{"a megabyte", subscription.Describe{ID: 1<<64 - 1}, large(1 << 20), ""},
		{"too much", subscription.Describe{ID: 2}, large(observe.MaxAnswerBytes), "refused: the answer has 33657102 bytes, limit 33554432: ask for fewer peers and tags"},
		{"a bad set", subscription.Describe{ID: 3, Set: []byte{1, 2, 3}}, state.State{}, "refused: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				if test.state.Version > 0 {
					b.describe = func(context.Context, state.Question) (state.State, error) { return test.state, nil }
				}
				a := b.asker(1)
				time.Sleep(time.Second)
				a.send(&test.ask)
				time.Sleep(time.Second)
				synctest.Wait()
				texts, whole := a.answers()
				got := texts[test.ask.ID]
				if whole != 1 || len(texts) != 1 {
					t.Fatalf("got %d whole answers to %d questions, want 1", whole, len(texts))
				}
				if test.want != "" {
					if !strings.HasPrefix(got, test.want) {
						t.Errorf("got %.200q, want %q", got, test.want)
					}
					return
				}
				want := test.state
				if want.Version == 0 {
					want = state.State{Version: state.Version, Connected: min(test.ask.Peers, state.MaxPeers)}
					if len(test.ask.Set) > 0 {
						want.KnownTags = 2
					}
				}
				var s state.State
				if err := json.Unmarshal([]byte(got), &s); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, s); diff != "" {
					t.Errorf("want -, got +:\n%s", diff)
				}
			})
		})
	}
}

// An error of the state, and its text, reach the observer, and it may ask again.
func TestARefusedQuestionEndsNoConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		good := b.describe
		b.describe = func(context.Context, state.Question) (state.State, error) {
			return state.State{}, errors.New("bus: closed\x1b" + strings.Repeat("x", 300))
		}
		a := b.asker(1)
		time.Sleep(time.Second)
		a.send(&subscription.Describe{ID: 1})
		time.Sleep(time.Second)
		b.on(func() { b.describe = good })
		a.send(&subscription.Describe{ID: 2})
		time.Sleep(time.Second)
		texts, whole := a.answers()
		if whole != 2 || !strings.HasPrefix(texts[1], `refused: bus: closed\x1b`) || len(texts[1]) > 300 || !strings.Contains(texts[2], "state_version") {
			t.Errorf("got %.400v, want a refusal, and then an answer", texts)
		}
		if !a.end().IsZero() {
			t.Error("the connection has ended")
		}
	})
}

// The server rests nine times as long as an answer took: it takes a tenth of a processor.
// Questions that wait are answered in their order.
func TestAnswersTakeATenthOfTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each, askers = 100 * time.Millisecond, 5
		b := newBed(t)
		b.describe = func(context.Context, state.Question) (state.State, error) {
			time.Sleep(each)
			return state.State{Version: state.Version}, nil
		}
		var all []*asker
		for i := range askers {
			all = append(all, b.asker(i))
		}
		time.Sleep(time.Second)
		begun := time.Now()
		for _, a := range all {
			a.send(&subscription.Describe{ID: 1})
			synctest.Wait()
		}
		time.Sleep(time.Minute / 2)
		for i, a := range all {
			want := begun.Add(time.Duration(i)*(1+observe.Rest)*each + each)
			if got := a.first(); !got.Equal(want) {
				t.Errorf("question %d was answered at %v, want %v", i, got, want)
			}
		}
	})
}

// Questions that cost nothing are answered once a millisecond: the loop has other work.
func TestQuickAnswersRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		a, other := b.asker(1), b.asker(2)
		time.Sleep(time.Second)
		begun := time.Now()
		a.send(&subscription.Describe{ID: 1})
		other.send(&subscription.Describe{ID: 1})
		time.Sleep(time.Second)
		took := []time.Duration{a.first().Sub(begun), other.first().Sub(begun)}
		slices.Sort(took)
		if took[0] != 0 || took[1] != time.Millisecond {
			t.Errorf("got answers after %v, want 0 and 1ms", took)
		}
	})
}

// The observer that has asked nothing for longest gives way to another one.
func TestTheIdleObserverGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var all []*asker
		for i := range observe.MaxObservers {
			all = append(all, b.asker(i))
			time.Sleep(time.Millisecond)
		}
		all[0].send(&subscription.Describe{ID: 1})
		time.Sleep(time.Second)
		b.asker(1000)
		time.Sleep(time.Second)
		for i, a := range all {
			if gone := !a.end().IsZero(); gone != (i == 1) {
				t.Errorf("observer %d: got gone %t", i, gone)
			}
		}
		if got := b.observers(); got != observe.MaxObservers {
			t.Errorf("got %d observers, want %d", got, observe.MaxObservers)
		}
	})
}

// A host that floods an instance with observers that ask without end neither keeps another one
// from its place, nor its question from its turn.
func TestAHostThatFloodsKeepsNoOtherOut(t *testing.T) {
	for name, from := range map[string]func(i int) netip.Addr{
		"one address":       func(int) netip.Addr { return hostOf(2) },
		"a network of IPv6": func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 1, 0x0d, 0xb8, 15: byte(i)}) },
	} {
		t.Run(name, func(t *testing.T) { floods(t, from) })
	}
}

// floods makes a host flood an instance, each observer from an address of it.
func floods(t *testing.T, from func(i int) netip.Addr) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		const each = 100 * time.Millisecond
		b := newBed(t)
		b.describe = func(context.Context, state.Question) (state.State, error) {
			time.Sleep(each)
			return state.State{Version: state.Version}, nil
		}
		honest := b.asker(1)
		time.Sleep(time.Millisecond)
		var flood []*asker
		for i := range observe.MaxObservers + 20 {
			a := b.askerAt(from(i))
			flood = append(flood, a)
			time.Sleep(time.Millisecond)
			a.send(&subscription.Describe{ID: 1})
		}
		time.Sleep(time.Second)
		begun := time.Now()
		honest.send(&subscription.Describe{ID: 1})
		time.Sleep(time.Minute)
		if !honest.end().IsZero() {
			t.Fatal("the connection of the other host has ended")
		}
		if took, most := honest.first().Sub(begun), 2*(1+observe.Rest)*each; took > most {
			t.Errorf("the question of the other host was answered after %v, want at most %v", took, most)
		}
		gone := 0
		for _, a := range flood {
			if !a.end().IsZero() {
				gone++
			}
		}
		if want := len(flood) + 1 - observe.MaxObservers; gone != want {
			t.Errorf("got %d connections of the host that have ended, want %d", gone, want)
		}
	})
}

// An observer that asks nothing, or takes nothing of its answer, is closed after a time, and
// exactly then. Beats are no question.
func TestAnObserverThatDoesNothingIsClosed(t *testing.T) {
	tests := []struct {
		name string
		do   func(b *bed, a *asker)
		want time.Duration // after the connection; 0: it is not closed
	}{
		{"it asks nothing", func(*bed, *asker) {}, observe.MaxIdle},
		{"it sends beats", func(_ *bed, a *asker) {
			for range 50 {
				time.Sleep(time.Second)
				a.send(&subscription.Beat{})
			}
		}, observe.MaxIdle},
		{"it asks once", func(_ *bed, a *asker) {
			time.Sleep(30 * time.Second)
			a.send(&subscription.Describe{ID: 1})
		}, 30*time.Second + observe.MaxIdle},
		{"it does not read", func(b *bed, a *asker) {
			b.describe = func(context.Context, state.Question) (state.State, error) { return large(1 << 20), nil }
			b.net.Stall(netip.AddrPortFrom(serverHost, 0), netip.AddrPortFrom(a.host, 0))
			time.Sleep(10 * time.Second)
			a.send(&subscription.Describe{ID: 1})
		}, 10*time.Second + observe.MaxIdle},
		{"it reads slowly", func(b *bed, a *asker) {
			b.describe = func(context.Context, state.Question) (state.State, error) { return large(1 << 20), nil }
			from, to := netip.AddrPortFrom(serverHost, 0), netip.AddrPortFrom(a.host, 0)
			b.net.SetWindow(from, to, subscription.MaxControlBytes)
			b.net.SetDelay(from, to, 50*time.Second)
			a.send(&subscription.Describe{ID: 1})
			time.Sleep(20 * time.Minute)
			if texts, whole := a.answers(); whole != 0 || len(texts[1]) < 100_000 {
				b.tb.Errorf("got %d whole answers and %d bytes, want a part", whole, len(texts[1]))
			}
		}, 0},
		{"its question waits", func(b *bed, a *asker) {
			b.describe = func(ctx context.Context, _ state.Question) (state.State, error) {
				<-ctx.Done()
				return state.State{}, context.Cause(ctx)
			}
			a.send(&subscription.Describe{ID: 1})
			time.Sleep(10 * time.Minute)
		}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				begun := time.Now()
				a := b.asker(1)
				synctest.Wait()
				test.do(b, a)
				if test.want > 0 {
					time.Sleep(time.Hour)
				}
				synctest.Wait()
				switch end := a.end(); {
				case test.want == 0 && !end.IsZero():
					t.Errorf("closed after %v, want not", end.Sub(begun))
				case test.want > 0 && b.closedAfter(a, begun) != test.want:
					t.Errorf("closed after %v, want %v", b.closedAfter(a, begun), test.want)
				}
			})
		})
	}
}

// What breaks the protocol closes the connection, and is told.
func TestWhatAnObserverMayNotSend(t *testing.T) {
	tests := []struct {
		name string
		send []subscription.Message
		want string // "": nothing is wrong
	}{
		{"a question and beats", []subscription.Message{&subscription.Beat{}, &subscription.Describe{ID: 1}, &subscription.Beat{}}, ""},
		{"a second question before the answer", []subscription.Message{&subscription.Describe{ID: 1}, &subscription.Describe{ID: 2}}, "an observer asks again before the answer is whole"},
		{"a subscription", []subscription.Message{&subscription.Subscribe{ID: 1, Set: []byte{1}}}, "an observer does not send subscribe"},
		{"an answer", []subscription.Message{&subscription.Description{ID: 1, Part: []byte{1}}}, "an observer does not send description"},
		{"a goodbye", []subscription.Message{&subscription.Goodbye{}}, "an observer does not send goodbye"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				describe := b.describe
				b.describe = func(ctx context.Context, q state.Question) (state.State, error) {
					time.Sleep(100 * time.Millisecond) // all that is sent is there before the answer
					return describe(ctx, q)
				}
				a := b.asker(1)
				synctest.Wait()
				a.send(test.send...)
				time.Sleep(time.Second)
				synctest.Wait()
				got := b.wrong()
				switch {
				case test.want == "" && (got != nil || !a.end().IsZero()):
					t.Errorf("got %v, closed %v, want neither", got, a.end())
				case test.want != "" && (got == nil || got.Error() != test.want || a.end().IsZero() || b.observers() != 0):
					t.Errorf("got %v, closed %v, %d observers, want %q and none", got, a.end(), b.observers(), test.want)
				}
			})
		})
	}
}

// Answers that are not read take no more than they may: the one that waits for longest goes.
func TestUnreadAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bytes, most = 20 << 20, observe.MaxUnsentBytes / (20 << 20)
		b := newBed(t)
		b.describe = func(context.Context, state.Question) (state.State, error) { return large(bytes), nil }
		var all []*asker
		for i := range most + 2 {
			a := b.asker(i)
			all = append(all, a)
			b.net.Stall(netip.AddrPortFrom(serverHost, 0), netip.AddrPortFrom(a.host, 0))
			time.Sleep(time.Second)
			a.send(&subscription.Describe{ID: 1})
			time.Sleep(time.Second)
		}
		if got := b.observers(); got != most {
			t.Errorf("got %d observers, want %d", got, most)
		}
		for i, a := range all {
			if gone := b.closedAfter(a, time.Time{}) > 0; gone != (i < 2) {
				t.Errorf("observer %d: got gone %t", i, gone)
			}
		}
	})
}

// An observer that goes ends its answer, and that of the next one follows. End ends all.
func TestAnAnswerEndsWithItsObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		ended := make(chan time.Time, 10)
		b.describe = func(ctx context.Context, _ state.Question) (state.State, error) {
			<-ctx.Done()
			ended <- time.Now()
			return state.State{}, context.Cause(ctx)
		}
		first, second := b.asker(1), b.asker(2)
		time.Sleep(time.Second)
		first.send(&subscription.Describe{ID: 1})
		time.Sleep(time.Second)
		second.send(&subscription.Describe{ID: 1})
		time.Sleep(time.Second)
		first.close()
		gone := time.Now()
		if at := <-ended; !at.Equal(gone) {
			t.Errorf("the answer ended at %v, want %v", at, gone)
		}
		time.Sleep(time.Minute)
		if n := b.asked(); n != 2 {
			t.Errorf("got %d answers begun, want 2", n)
		}
		b.server.End()
		b.server.Wait()
		if len(ended) != 1 {
			t.Error("End has not ended the answer")
		}
	})
}

// Dismiss closes all observers at once.
func TestDismiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var all []*asker
		for i := range 3 {
			all = append(all, b.asker(i))
		}
		time.Sleep(time.Second)
		all[0].send(&subscription.Describe{ID: 1})
		b.on(b.server.Dismiss)
		time.Sleep(time.Second)
		for i, a := range all {
			if a.end().IsZero() || b.observers() != 0 {
				t.Errorf("observer %d is there", i)
			}
		}
	})
}
