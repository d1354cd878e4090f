// SPDX-License-Identifier: Apache-2.0

//go:build linux

package signals

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// bed is a watcher whose terminal and process are those of the test.
type bed struct {
	*watcher
	t          *testing.T
	ctx, haste context.Context
	signals    chan os.Signal
	there      atomic.Bool  // the terminal
	status     atomic.Int64 // of the process; -1: it runs
	out        bytes.Buffer
}

func always() bool { return true }

// follow runs f with a watcher, in time that is faked.
func follow(t *testing.T, c Config, there bool, f func(b *bed)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, signals: make(chan os.Signal)}
		b.there.Store(there)
		b.status.Store(-1)
		ctx, cancel := context.WithCancelCause(t.Context())
		haste, hurry := context.WithCancelCause(t.Context())
		b.ctx, b.haste = ctx, haste
		c.Status = 1
		if c.Stacks == nil {
			c.Stacks = &b.out
		}
		b.watcher = &watcher{
			Config: c, end: cancel, hurry: hurry, exit: func(status int) { b.status.Store(int64(status)) }, had: there, ever: there,
			terminal: func() (bool, bool) { return b.there.Load(), !b.there.Load() },
		}
		done, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			b.run(b.signals, done)
		}()
		f(b)
		close(done)
		<-over
		b.awaitStacks()
	})
}

// send sends signals, a second after one another.
func (b *bed) send(all ...os.Signal) {
	for i, s := range all {
		if i > 0 {
			time.Sleep(time.Second)
		}
		b.signals <- s
		synctest.Wait()
	}
}

// expect compares what the program was told.
func (b *bed) expect(ends, hurries bool, status int) {
	b.t.Helper()
	if got := b.ctx.Err() != nil; got != ends {
		b.t.Errorf("got the end asked for: %t, want %t", got, ends)
	}
	if got := b.haste.Err() != nil; got != hurries {
		b.t.Errorf("got haste asked for: %t, want %t", got, hurries)
	}
	if got := b.status.Load(); got != int64(status) {
		b.t.Errorf("got status %d (-1: the process runs), want %d", got, status)
	}
}

// why returns what the program is told about the signal that ends it.
func (b *bed) cause() (s os.Signal, why string) {
	e := (*Error)(nil)
	if !errors.As(context.Cause(b.ctx), &e) {
		b.t.Errorf("got cause %v, want an Error", context.Cause(b.ctx))
		return nil, ""
	}
	return e.Signal, e.Why
}

// TestEachEndsAProgramInOrder whatever it asks for.
func TestEachEndsAProgramInOrder(t *testing.T) {
	for s, want := range map[os.Signal]string{
		syscall.SIGINT: "", syscall.SIGTERM: "", syscall.SIGHUP: "the end was asked for", syscall.SIGQUIT: "the stacks were asked for, and are on standard error",
		syscall.SIGXCPU: "the limit of processor time (ulimit -t) is reached", syscall.SIGPWR: "the power fails",
	} {
		t.Run(s.String(), func(t *testing.T) {
			follow(t, Config{}, true, func(b *bed) {
				b.send(s)
				b.expect(true, false, -1)
				if signal, why := b.cause(); signal != s || why != want {
					t.Errorf("got %v %q, want %v %q", signal, why, s, want)
				}
			})
		})
	}
}

// TestWhatComesAfterTheFirst makes the program hurry, unless it is the same wish.
func TestWhatComesAfterTheFirst(t *testing.T) {
	tests := []struct {
		name    string
		signals []os.Signal
		hurries bool
		status  int
	}{
		{"a second one", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}, true, -1},
		{"another second one", []os.Signal{syscall.SIGHUP, syscall.SIGINT}, true, -1},
		{"a third one", []os.Signal{syscall.SIGINT, syscall.SIGINT, syscall.SIGTERM}, true, 1},
		{"stacks are asked for of an end that hangs", []os.Signal{syscall.SIGTERM, syscall.SIGQUIT}, true, -1},
		{"the terminal goes again and again", []os.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGHUP}, false, -1},
		{"the terminal goes while the program ends", []os.Signal{syscall.SIGINT, syscall.SIGHUP}, false, -1},
		{"the limit is reached each second", []os.Signal{syscall.SIGXCPU, syscall.SIGXCPU, syscall.SIGXCPU}, false, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			follow(t, Config{}, true, func(b *bed) {
				b.send(test.signals...)
				b.expect(true, test.hurries, test.status)
			})
		})
	}
}

// TestTwoAtOnceAreOneWish: one is for the process, one for its group.
func TestTwoAtOnceAreOneWish(t *testing.T) {
	follow(t, Config{}, true, func(b *bed) {
		b.send(syscall.SIGTERM)
		time.Sleep(echo)
		b.send(syscall.SIGTERM)
		b.expect(true, false, -1)
	})
}

// TestAProcessThatDoesNotHurryIsEnded two seconds later.
func TestAProcessThatDoesNotHurryIsEnded(t *testing.T) {
	follow(t, Config{}, true, func(b *bed) {
		b.send(syscall.SIGTERM, syscall.SIGTERM)
		time.Sleep(hurryTime - 1)
		b.expect(true, true, -1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		b.expect(true, true, 1)
	})
}

// TestQuitWritesStacksAndIsBounded: it is for processes that hang.
func TestQuitWritesStacksAndIsBounded(t *testing.T) {
	follow(t, Config{}, true, func(b *bed) {
		b.send(syscall.SIGQUIT)
		b.awaitStacks()
		if got := b.out.String(); !strings.HasPrefix(got, "SIGQUIT: quit\n\ngoroutine ") || strings.Count(got, "goroutine ") < 2 {
			t.Errorf("got %.100q, want the stacks of all goroutines", got)
		}
		b.expect(true, false, -1)
		time.Sleep(quitTime)
		synctest.Wait()
		b.expect(true, true, -1)
		time.Sleep(hurryTime)
		synctest.Wait()
		b.expect(true, true, 1)
	})
}

// never takes nothing, as a pipe that is full.
type never struct{ release chan struct{} }

func (n never) Write(p []byte) (int, error) {
	<-n.release
	return len(p), nil
}

// TestStacksThatAreNotReadHoldNothingUp.
func TestStacksThatAreNotReadHoldNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := never{make(chan struct{})}
		status := -1
		w := &watcher{
			Config: Config{Stacks: stuck, Status: 1}, end: func(error) {}, hurry: func(error) {}, exit: func(s int) { status = s },
			terminal: func() (bool, bool) { return false, true },
		}
		began := time.Now()
		for range 3 {
			w.take(syscall.SIGQUIT)
			time.Sleep(time.Second)
		}
		if status != 1 || time.Since(began) > 5*time.Second {
			t.Errorf("got status %d after %v, want 1 soon", status, time.Since(began))
		}
		close(stuck.release)
	})
}

// TestHangupReadsFilesAgain unless the terminal that there was has gone.
func TestHangupReadsFilesAgain(t *testing.T) {
	tests := []struct {
		name string
		had  bool
		f    func(b *bed)
		ends bool
	}{
		{"the terminal is there", true, func(b *bed) { b.send(syscall.SIGHUP, syscall.SIGHUP) }, false},
		{"there never was one, as of a service", false, func(b *bed) { b.send(syscall.SIGHUP, syscall.SIGHUP) }, false},
		{"the terminal has gone", true, func(b *bed) { b.there.Store(false); b.send(syscall.SIGHUP) }, true},
		{"the terminal goes just after the signal", true, func(b *bed) { b.send(syscall.SIGHUP); b.there.Store(false); time.Sleep(afterHangup) }, true},
		{"the terminal has gone without a signal, long ago", true, func(b *bed) { b.there.Store(false); time.Sleep(3 * lookEvery); b.send(syscall.SIGHUP) }, false},
		{"the terminal has gone a moment ago", true, func(b *bed) {
			time.Sleep(lookEvery - 1)
			b.there.Store(false)
			time.Sleep(2 * time.Nanosecond)
			b.send(syscall.SIGHUP)
		}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			follow(t, Config{Rereads: always}, test.had, func(b *bed) {
				test.f(b)
				time.Sleep(time.Second)
				synctest.Wait()
				b.expect(test.ends, false, -1)
				if test.ends {
					if s, why := b.cause(); s != syscall.SIGHUP || why != "the terminal has gone" {
						t.Errorf("got %v %q, want that the terminal has gone", s, why)
					}
				}
			})
		})
	}
}

// TestNoTerminalGoesThatWasNotThere: a service has none, and is only asked to end.
func TestNoTerminalGoesThatWasNotThere(t *testing.T) {
	follow(t, Config{}, false, func(b *bed) {
		b.send(syscall.SIGHUP)
		if s, why := b.cause(); s != syscall.SIGHUP || why != "the end was asked for" {
			t.Errorf("got %v %q, want that the end was asked for", s, why)
		}
	})
}

// TestOtherSignalsEndWhatReadsAgain.
func TestOtherSignalsEndWhatReadsAgain(t *testing.T) {
	follow(t, Config{Rereads: always}, true, func(b *bed) {
		b.send(syscall.SIGHUP)
		b.expect(false, false, -1)
		b.send(syscall.SIGTERM)
		b.expect(true, false, -1)
	})
}

// TestWhatIsIgnoredStaysSo: below nohup, and in the background of a script.
func TestWhatIsIgnoredStaysSo(t *testing.T) {
	got := wanted(func(s os.Signal) bool { return s == syscall.SIGHUP || s == syscall.SIGINT })
	if len(got) != len(endings)-2 || slices.Contains(got, os.Signal(syscall.SIGHUP)) {
		t.Errorf("got %v, want all but SIGHUP and SIGINT", got)
	}
	if got := wanted(func(os.Signal) bool { return false }); len(got) != len(endings) {
		t.Errorf("got %v, want %v", got, endings)
	}
}
