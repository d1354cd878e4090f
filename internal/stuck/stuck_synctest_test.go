// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaits(t *testing.T) {
	tests := []struct {
		name        string
		aside, pipe bool
		signal      time.Duration // 0: none
		second      time.Duration
		returns     time.Duration
		said, ended []string // with the time
	}{
		{"a call that returns in time", false, false, 0, 0, 2 * time.Second, nil, nil},
		{"a call that does not", false, false, 0, 0, time.Hour, []string{"2.5s f", "1h0m0s back"}, nil},
		{"a signal while it is waited for", false, false, 5 * time.Second, 0, time.Hour, []string{"2.5s f", "1h0m0s back"}, []string{"5s f"}},
		{"a signal before it is late", false, false, time.Second, 0, time.Hour, nil, []string{"2.5s f"}},
		{"a signal, and then it returns", false, false, time.Second, 0, 2 * time.Second, nil, nil},
		{"a second signal before it is late", false, false, time.Second, 1600 * time.Millisecond, time.Hour, nil, []string{"1.6s f", "2.5s f"}},
		{"a pipe, and a signal before it is late", false, true, time.Second, 0, time.Hour, nil, []string{"1s f", "2.5s f"}},
		{"a pipe that is written to after all", false, true, 0, 0, time.Hour, []string{"2.5s f"}, nil},
		{"a call aside, and a signal", true, false, 5 * time.Second, 6 * time.Second, time.Hour, []string{"2.5s f", "1h0m0s back"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, start := newWaits(), time.Now()
				var mu sync.Mutex
				var said, ended []string
				note := func(to *[]string) func(string) {
					return func(path string) {
						mu.Lock()
						defer mu.Unlock()
						*to = append(*to, time.Since(start).String()+" "+path)
					}
				}
				sayIt := note(&said)
				p.say = func(n Note) {
					if n.Took > 0 {
						sayIt("back")
						return
					}
					sayIt(n.Path)
				}
				ctx, cancel := context.WithCancel(t.Context())
				hurry, cancelHurry := context.WithCancel(t.Context())
				defer cancel()
				defer cancelHurry()
				exit := note(&ended)
				defer p.follow(ctx, hurry, func(n Note) { exit(n.Path) })() // the process goes on here
				over := p.begin(wait{path: "f", aside: test.aside, pipe: test.pipe})
				if test.signal > 0 {
					time.AfterFunc(test.signal, cancel)
				}
				if test.second > 0 {
					time.AfterFunc(test.second, cancelHurry)
				}
				time.Sleep(test.returns)
				over()
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(said, test.said) || !slices.Equal(ended, test.ended) {
					t.Errorf("got said %q and ended %q, want %q and %q", said, ended, test.said, test.ended)
				}
			})
		})
	}
}

// TestWhatIsSaid: each file once, when it answers again, and a slow one not each time.
func TestWhatIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, start := newWaits(), time.Now()
		var mu sync.Mutex
		var said []string
		p.say = func(n Note) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, time.Since(start).String()+" "+n.String())
		}
		call := func(path string, takes time.Duration) {
			over := p.begin(wait{path: path, aside: true})
			time.Sleep(takes)
			over()
		}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(said, want) {
				t.Errorf("got %q, want %q", said, want)
			}
			said = nil
		}
		away := func(path string) string {
			return "waiting for " + path + ": its file system does not answer, since "
		}
		go call("f", 8*time.Second)
		time.Sleep(time.Second)
		go call("f", 9*time.Second)
		time.Sleep(time.Second)
		call("g", 9*time.Second)
		expect("2.5s "+away("f")+"00:00:00", "4.5s "+away("g")+"00:00:02",
			"10s f: its file system answers again, after 10s", "11s g: its file system answers again, after 9s")
		for range 5 {
			call("f", 3*time.Second)
		}
		expect() // it is slow
		call("f", time.Minute)
		expect("51s "+away("f")+"00:00:26", "1m26s f: its file system answers again, after 1m0s")
		time.Sleep(again)
		call("f", 3*time.Second)
		expect("2m28.5s "+away("f")+"00:02:26", "2m29s f: its file system answers again, after 3s")
	})
}

// TestLate: the oldest of what is waited for.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer On("a")()
		start := time.Now()
		time.Sleep(time.Second)
		defer Aside("b")()
		time.Sleep(Patience - time.Second - time.Nanosecond)
		synctest.Wait()
		if n, late := Late(); late {
			t.Errorf("got %v, want none yet", n)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if n, late := Late(); !late || n.Path != "a" || !n.Since.Equal(start) || !IsLate("a") || IsLate("b") {
			t.Errorf("got %+v %v, want a", n, late)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n, _ := Late(); n.Path != "a" || !IsLate("b") {
			t.Errorf("got %+v, want a, and b late", n)
		}
	})
}

// TestNotesNameTheFlag: a command line names many files.
func TestNotesNameTheFlag(t *testing.T) {
	p := newWaits()
	p.flags = map[string]string{"/mnt/ca.pem": "--ca", "/mnt/dir": "--dir", "x.pem": "--cert"}
	for path, want := range map[string]string{
		"/mnt/ca.pem":      "waiting for /mnt/ca.pem (--ca): its file system does not answer",
		"/mnt/dir/a/b.pem": "waiting for /mnt/dir/a/b.pem (--dir): its file system does not answer",
		"x.pem":            "waiting for x.pem (--cert): its file system does not answer",
		"/mnt/other":       "waiting for /mnt/other: its file system does not answer",
		"other":            "waiting for other: its file system does not answer",
	} {
		if got := p.note(&wait{path: path}).Text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	Named("/mnt/named", "--first")
	Named("/mnt/named", "--second")
	process.mu.Lock()
	defer process.mu.Unlock()
	if got := process.flag("/mnt/named"); got != "--first" {
		t.Errorf("got %q, want the flag that named it first", got)
	}
}

// TestWithin: what reads files is given up in time, with the file, and what it has opened by then is
// closed.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dropped := 0
		drop := func(int) { dropped++ }
		start := time.Now()
		reads := func(takes time.Duration, file bool) func() (int, error) {
			return func() (int, error) {
				if file {
					defer On("f")()
				}
				time.Sleep(takes)
				return 7, nil
			}
		}
		n, err := Within(2*time.Second, reads(time.Minute, true), drop)
		var late *LateError
		if !errors.As(err, &late) || late.Note.Path != "f" || n != 0 || time.Since(start) != 2*time.Second {
			t.Errorf("got %d and %v after %v, want a LateError about f after 2s", n, err, time.Since(start))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if dropped != 1 {
			t.Errorf("got %d results dropped, want that which came late", dropped)
		}
		if n, err := Within(2*time.Second, reads(time.Second, true), drop); n != 7 || err != nil {
			t.Errorf("got %d and %v, want what was read in time", n, err)
		}
		if n, err := Within(2*time.Second, reads(time.Minute, false), drop); n != 7 || err != nil {
			t.Errorf("got %d and %v of what waits for no file, want its result", n, err)
		}
	})
}

// TestAwait: the end of a program waits for a look that takes a while, and not for one that hangs.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{})
		go func() {
			defer Aside("g")()
			<-answers
		}()
		for _, test := range []struct {
			want  time.Duration
			paths []string
		}{{Patience, []string{"f", "g"}}, {0, []string{"f", "g"}}, {Patience, []string{"f"}}, {Patience, nil}} {
			start := time.Now()
			Await(func() { <-answers }, test.paths...)
			if took := time.Since(start); took != test.want {
				t.Errorf("%q: took %v, want %v", test.paths, took, test.want)
			}
			synctest.Wait()
		}
		close(answers)
	})
}
