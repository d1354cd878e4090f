// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/tags"
)

const patience = 2 * time.Second

// asker answers by instance.
type asker map[string]func(ctx context.Context) (state.State, error)

func (a asker) Ask(ctx context.Context, e directory.Entry, _ state.Question) (state.State, error) {
	return a[e.Instance](ctx)
}

// answers counts a message at each question.
func answers(instance string) func(context.Context) (state.State, error) {
	var n uint64
	return func(context.Context) (state.State, error) {
		n++
		return state.State{Instance: instance, Time: time.Now(), Messages: n}, nil
	}
}

// hangs counts questions and answers none.
func hangs(asked *atomic.Int32) func(context.Context) (state.State, error) {
	return func(ctx context.Context) (state.State, error) {
		asked.Add(1)
		<-ctx.Done()
		return state.State{}, context.Cause(ctx)
	}
}

func announce(t *testing.T, d directory.Directory, instance string) directory.Registration {
	t.Helper()
	r, err := d.Announce(directory.Entry{
		Instance: instance, Backend: "tcp", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")},
		PageBytes: 1, MaxMessageBytes: 1, Tags: tags.Of(1),
	})
	testkit.Must(t, err)
	return r
}

func TestASilentInstanceHoldsUpOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, asked := memory.New(), new(atomic.Int32)
		defer dir.Close()
		announce(t, dir, "a")
		announce(t, dir, "b")
		w := overview.New(dir, asker{"a": hangs(asked), "b": answers("b")})
		began := time.Now()
		for look := range 30 {
			start := time.Now()
			o := w.Look(t.Context(), nil, state.Question{}, patience)
			want := time.Duration(0)
			if look == 0 {
				want = patience
			}
			if took := time.Since(start); took != want {
				t.Fatalf("look %d: got %v, want %v", look, took, want)
			}
			a, b := o.Rows[0], o.Rows[1]
			if a.State != nil || !errors.Is(a.Err, overview.ErrNoAnswer) || a.Err.Error() != "no answer in 2s" || !a.SilentSince.Equal(began) {
				t.Fatalf("look %d: got %v since %v, want no answer in 2s since %v", look, a.Err, a.SilentSince, began)
			}
			if b.State == nil || b.State.Messages != uint64(look+1) || !b.SilentSince.IsZero() || (b.Before != nil) != (look > 0) {
				t.Fatalf("look %d: got %+v, want answer %d", look, b, look+1)
			}
			time.Sleep(time.Second)
		}
		// At 0 s, 3 s (a second after the first answer was due), then 2, 4, 8 and 10 s behind
		// what has ended.
		synctest.Wait()
		if n := asked.Load(); n < 4 || n > 6 {
			t.Errorf("got %d questions in 30 s, want 4 to 6", n)
		}
	})
}

// What ends after the question, such as a try to connect, may be known to be late before the end of the question is seen.
func TestWhatIsLateWithTheQuestionIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := memory.New()
		defer dir.Close()
		for _, instance := range []string{"connects-late", "greets-late", "soon"} {
			announce(t, dir, instance)
		}
		fails := func(after time.Duration, err error) func(context.Context) (state.State, error) {
			return func(context.Context) (state.State, error) {
				time.Sleep(after)
				return state.State{}, fmt.Errorf("open: %w", err)
			}
		}
		w := overview.New(dir, asker{
			"connects-late": fails(patience, netio.ErrTimeout), "greets-late": fails(patience, observer.ErrTimeout), "soon": fails(patience/2, netio.ErrTimeout),
		})
		for range 8 { // later looks show how questions beside them have ended
			rows := w.Look(t.Context(), nil, state.Question{}, patience).Rows
			for i, want := range []error{overview.ErrNoAnswer, overview.ErrNoAnswer, netio.ErrTimeout} {
				if err := rows[i].Err; !errors.Is(err, want) {
					t.Errorf("%s: got %v, want %v", rows[i].Entry.Instance, err, want)
				}
			}
			time.Sleep(time.Second)
		}
	})
}

func TestAnInstanceThatAnswersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, asked, well := memory.New(), new(atomic.Int32), false
		defer dir.Close()
		announce(t, dir, "a")
		hang, answer := hangs(asked), answers("a")
		w := overview.New(dir, asker{"a": func(ctx context.Context) (state.State, error) {
			if well {
				return answer(ctx)
			}
			return hang(ctx)
		}})
		look := func() overview.Row { return w.Look(t.Context(), nil, state.Question{}, patience).Rows[0] }
		if r := look(); r.State != nil {
			t.Fatalf("got %+v, want no answer", r)
		}
		synctest.Wait()
		well = true
		for range 12 {
			time.Sleep(time.Second)
			if r := look(); r.State != nil {
				if r.Err != nil || !r.SilentSince.IsZero() {
					t.Errorf("got %v since %v, want none", r.Err, r.SilentSince)
				}
				time.Sleep(time.Second)
				if r := look(); r.State == nil || r.Before == nil || r.State.Messages != 2 {
					t.Errorf("got %+v, want the second answer", r)
				}
				return
			}
		}
		t.Error("got no answer in 12 s, want one")
	})
}

// Looks whose context ends with them, as those of an API end with its requests, see that an instance
// answers again, and no answer from long ago.
func TestAnInstanceThatAnswersAgain_afterLooksThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, asked, well := memory.New(), new(atomic.Int32), false
		defer dir.Close()
		announce(t, dir, "a")
		hang, answer := hangs(asked), answers("a")
		w := overview.New(dir, asker{"a": func(ctx context.Context) (state.State, error) {
			if well {
				time.Sleep(5 * time.Millisecond)
				return answer(ctx)
			}
			return hang(ctx)
		}})
		look := func() overview.Row {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			return w.Look(ctx, nil, state.Question{}, patience).Rows[0]
		}
		if r := look(); r.State != nil {
			t.Fatalf("got %+v, want no answer", r)
		}
		synctest.Wait()
		well = true
		defer time.Sleep(time.Second) // of what is asked beside a look
		// What the first look knows of the question depends on which of two timers rings first: then it is asked beside the
		// second look, or the third one.
		for range 3 {
			time.Sleep(time.Minute)
			if r := look(); r.State != nil {
				if age := time.Since(r.State.Time); age > time.Second {
					t.Errorf("got an answer of %v ago, want one of now", age)
				}
				return
			}
		}
		t.Error("got no answer in three looks, want one")
	})
}

func TestALateAnswerIsInTheNextLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := memory.New()
		defer dir.Close()
		for i := range 300 { // more than are asked at once
			announce(t, dir, fmt.Sprintf("a%03d", i))
		}
		all := asker{}
		for i := range 300 {
			instance := fmt.Sprintf("a%03d", i)
			all[instance] = func(context.Context) (state.State, error) {
				time.Sleep(patience - time.Millisecond)
				return state.State{Instance: instance, Time: time.Now()}, nil
			}
		}
		w := overview.New(dir, all)
		count := func(o overview.Overview) (n int) {
			for _, r := range o.Rows {
				if r.State != nil {
					n++
				}
			}
			return n
		}
		if got := count(w.Look(t.Context(), nil, state.Question{}, patience)); got != 256 {
			t.Errorf("first look: got %d answers, want 256", got)
		}
		time.Sleep(patience)
		if got := count(w.Look(t.Context(), nil, state.Question{}, patience)); got != 300 {
			t.Errorf("second look: got %d answers, want 300", got)
		}
		time.Sleep(time.Minute)
	})
}

func TestALookThatIsEndedBlamesNoInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, asked := memory.New(), new(atomic.Int32)
		defer dir.Close()
		announce(t, dir, "a")
		all := asker{"a": hangs(asked)}
		w := overview.New(dir, all)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := w.Look(ctx, nil, state.Question{}, patience).Rows[0]; r.State != nil || !r.SilentSince.IsZero() {
			t.Errorf("got %+v, want neither an answer nor a silence", r)
		}
		synctest.Wait()
		all["a"] = answers("a")
		if r := w.Look(t.Context(), nil, state.Question{}, patience).Rows[0]; r.State == nil {
			t.Errorf("got %v, want an answer", r.Err)
		}
	})
}

func TestAnInstanceThatIsNotListedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, asked := memory.New(), new(atomic.Int32)
		defer dir.Close()
		a := announce(t, dir, "a")
		w := overview.New(dir, asker{"a": hangs(asked)})
		w.Look(t.Context(), nil, state.Question{}, patience)
		testkit.Must(t, a.Withdraw())
		if o := w.Look(t.Context(), nil, state.Question{}, patience); len(o.Rows) != 0 {
			t.Fatalf("got %d rows, want none", len(o.Rows))
		}
		announce(t, dir, "a")
		start := time.Now()
		r := w.Look(t.Context(), nil, state.Question{}, patience).Rows[0]
		synctest.Wait()
		if asked.Load() != 2 || !r.SilentSince.Equal(start) {
			t.Errorf("got %d questions and silence since %v, want 2 and %v", asked.Load(), r.SilentSince, start)
		}
	})
}

// An entry that is withdrawn did not expire: what is asked while it ends, or may not be asked, has
// not gone without a word.
func TestWhoHasGoneWithoutAWord(t *testing.T) {
	for _, test := range []struct {
		name    string
		err     error // of each question
		looks   int   // one in a second, before the entry goes
		without bool  // a word
	}{
		{"it is silent", overview.ErrNoAnswer, 5, true},
		{"it was asked while it ended", errors.New("connection refused"), 1, false},
		{"it was asked once, and then the pause was not over", errors.New("connection refused"), 2, false},
		{"it denies the question", fmt.Errorf("observe: %w: no rule", observer.ErrDenied), 5, false},
		{"it is too old", observer.ErrNotObservable, 5, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := memory.New()
				defer dir.Close()
				a := announce(t, dir, "a")
				w := overview.New(dir, asker{"a": func(context.Context) (state.State, error) { return state.State{}, test.err }})
				for look := range test.looks {
					if look > 0 {
						time.Sleep(time.Second - time.Millisecond)
					}
					w.Look(t.Context(), nil, state.Question{}, patience)
				}
				testkit.Must(t, a.Withdraw())
				if o := w.Look(t.Context(), nil, state.Question{}, patience); len(o.Dead) > 0 != test.without {
					t.Errorf("got %+v, want one that has gone without a word: %v", o.Dead, test.without)
				}
			})
		})
	}
}

func TestWhatIsNotKeptIsNotAsked(t *testing.T) {
	dir := memory.New()
	defer dir.Close()
	announce(t, dir, "a")
	announce(t, dir, "b")
	w := overview.New(dir, asker{"b": answers("b")})
	o := w.Look(t.Context(), func(e *directory.Entry) bool { return e.Instance == "b" }, state.Question{}, patience)
	if len(o.Rows) != 1 || o.Rows[0].State == nil {
		t.Errorf("got %+v, want the answer of b", o.Rows)
	}
}
