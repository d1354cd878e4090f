// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
)

// fakeDisplay notes what is drawn.
type fakeDisplay struct {
	keys                          chan screen.Key
	frame                         []string
	drawn                         int
	suspended, resumed, forgotten int
	err                           error // of Draw
}

func (d *fakeDisplay) Keys() <-chan screen.Key { return d.keys }
func (d *fakeDisplay) Size() (int, int)        { return 80, 24 }
func (d *fakeDisplay) Forget()                 { d.forgotten++ }
func (d *fakeDisplay) Resume() error           { d.resumed++; return nil }
func (d *fakeDisplay) Suspend() error          { d.suspended++; return nil }

func (d *fakeDisplay) Draw(lines []string) error {
	d.frame = lines
	d.drawn++
	return d.err
}

// watched is a run of which the looks are counted.
type watched struct {
	*fakeDisplay
	looks  int
	costs  time.Duration // processor time of each look
	takes  time.Duration // each look
	result chan error
	cancel context.CancelFunc
}

// watch starts a run.
//
//   - takes: how long a look does.
func watch(t *testing.T, takes time.Duration) *watched {
	t.Helper()
	return watchAt(t, takes, 0)
}

// watchAt is watch for looks that cost processor time.
func watchAt(t *testing.T, takes, costs time.Duration) *watched {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{fakeDisplay: &fakeDisplay{keys: make(chan screen.Key)}, takes: takes, costs: costs, result: make(chan error, 1), cancel: cancel}
	v := newView(&Command{By: "queue", View: "instances"}, "/data/bus", true)
	go func() {
		w.result <- run(ctx, w.fakeDisplay, v, w.look, &pace{interval: time.Second, used: w.used})
	}()
	return w
}

func (w *watched) look(ctx context.Context) overview.Overview {
	w.looks++
	select {
	case <-time.After(w.takes):
	case <-ctx.Done():
	}
	return small()
}

func (w *watched) used() time.Duration { return time.Duration(w.looks) * w.costs }

func (w *watched) end(t *testing.T) {
	t.Helper()
	w.keys <- 'q'
	if err := <-w.result; err != nil {
		t.Errorf("got %v, want no error", err)
	}
	w.cancel()
}

func TestALookEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 0)
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if w.looks != 11 {
			t.Errorf("got %d looks in 10 s, want 11", w.looks)
		}
		if got := strings.Join(w.frame, "\n"); !strings.Contains(got, "felix-02") {
			t.Errorf("got\n%s\nwant the rows", got)
		}
		w.end(t)
	})
}

// TestLooksTakeAShareOfAProcessor: one that takes more than 80 ms makes the pause longer,
// but not that after the first, which has connected.
func TestLooksTakeAShareOfAProcessor(t *testing.T) {
	for _, c := range []struct {
		costs time.Duration
		want  int
	}{{80 * time.Millisecond, 41}, {160 * time.Millisecond, 21}, {400 * time.Millisecond, 9}} {
		synctest.Test(t, func(t *testing.T) {
			w := watchAt(t, 0, c.costs)
			time.Sleep(40*time.Second + time.Millisecond)
			synctest.Wait()
			if got := w.looks; got < c.want || got > c.want+1 {
				t.Errorf("got %d looks in 40 s, each of which takes %v of a processor, want %d", got, c.costs, c.want)
			}
			w.end(t)
		})
	}
}

// TestKeysDuringALook: they do not wait for it, and there is one look at a time.
func TestKeysDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 3500*time.Millisecond)
		time.Sleep(2 * time.Second)
		w.keys <- '?'
		synctest.Wait()
		if got := strings.Join(w.frame, "\n"); !strings.Contains(got, "next order") {
			t.Errorf("got\n%s\nwant the help", got)
		}
		w.keys <- '?'                       // ends it
		time.Sleep(2500 * time.Millisecond) // 4.5 s: the first has ended, the second began at 4 s
		synctest.Wait()
		if w.looks != 2 {
			t.Errorf("got %d looks, want 2", w.looks)
		}
		began := time.Now()
		w.end(t) // ends the look that is under way
		if took := time.Since(began); took != 0 {
			t.Errorf("got an end after %v, want it at once", took)
		}
	})
}

func TestAPauseAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 0)
		time.Sleep(1500 * time.Millisecond)
		w.keys <- 'p'
		synctest.Wait()
		before := w.looks
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if w.looks != before {
			t.Errorf("got %d looks in a pause, want none", w.looks-before)
		}
		if got := strings.Join(w.frame, "\n"); !strings.Contains(got, "paused") || !strings.Contains(got, "felix-02") {
			t.Errorf("got\n%s\nwant the rows, paused", got)
		}
		w.keys <- 'p'
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.looks != before+2 {
			t.Errorf("got %d looks after the pause, want 2", w.looks-before)
		}
		w.end(t)
	})
}

func TestKeysOfTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 0)
		w.keys <- screen.Suspend
		w.keys <- screen.Redraw
		w.keys <- screen.Resize
		synctest.Wait()
		if w.suspended != 1 || w.resumed != 1 || w.forgotten != 1 {
			t.Errorf("got %d, %d and %d, want one of each", w.suspended, w.resumed, w.forgotten)
		}
		w.end(t)
	})
}

func TestTheEndOfTheContextIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 0)
		time.Sleep(time.Second)
		w.cancel()
		if err := <-w.result; err != nil {
			t.Errorf("got %v, want no error", err)
		}
	})
}

func TestATerminalThatFailsIsAnError(t *testing.T) {
	d := &fakeDisplay{err: errors.New("no terminal any more")}
	v := newView(&Command{By: "queue"}, "/data/bus", true)
	if err := run(t.Context(), d, v, func(context.Context) overview.Overview { return small() }, &pace{interval: time.Second, used: processorTime}); !errors.Is(err, d.err) {
		t.Errorf("got %v, want %v", err, d.err)
	}
}

// TestAPanicOfALookComesOut: on the goroutine that gives the terminal back, with the
// place where it happened.
func TestAPanicOfALookComesOut(t *testing.T) {
	defer func() {
		got, ok := recover().(string)
		if !ok || !strings.Contains(got, "broken\n") || !strings.Contains(got, "live_synctest_test.go") {
			t.Errorf("got %q, want broken and where", got)
		}
	}()
	d := &fakeDisplay{}
	v := newView(&Command{By: "queue"}, "/data/bus", true)
	_ = run(t.Context(), d, v, func(context.Context) overview.Overview { panic("broken") }, &pace{interval: time.Second, used: processorTime})
}
