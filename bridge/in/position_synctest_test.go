// SPDX-License-Identifier: Apache-2.0

package in_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/in"
	"tagbus/bridge/internal/memlog"
)

// TestRun_goesOnAtItsPosition: each message comes once, whatever came to the log between the runs, and Start is about the first one.
func TestRun_goesOnAtItsPosition(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position")
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "before")
		time.Sleep(time.Second)
		cfg := config
		cfg.Position, cfg.Subscribers = file, 0
		cfg.Query.Start.Time = time.Now()
		time.Sleep(time.Second)
		if _, err := s.run(f.log, cfg); err != nil { // there is nothing yet
			t.Fatal(err)
		}
		f.messages(1, 2, time.Now(), "a", "b")
		cfg.Query.Start.Time = time.Now().Add(time.Hour)
		cfg.Subscribers = 1
		for range 2 {
			if _, err := s.run(f.log, cfg); err != nil {
				t.Fatal(err)
			}
		}
		f.messages(1, 4, time.Now(), "c")
		if _, err := s.run(f.log, cfg); err != nil {
			t.Fatal(err)
		}
		if want := []string{"1:0:a", "1:1:b", "1:0:c"}; !slices.Equal(s.got, want) {
			t.Errorf("got %q, want %q", s.got, want)
		}
	})
}

// TestRun_itsPositionIsWithinARecord when the end comes in the middle of one.
func TestRun_itsPositionIsWithinARecord(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position")
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a", "b", "c", "d") // a second after each other
		cfg := config
		cfg.Position, cfg.Speed = file, 1
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		if _, err := in.Run(ctx, s, f.log, cfg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the context", err)
		}
		synctest.Wait()
		first := slices.Clone(s.got)
		if _, err := s.run(f.log, cfg); err != nil {
			t.Error(err)
		}
		if want := []string{"1:0:a", "1:1:b", "1:2:c", "1:3:d"}; len(first) == 0 || len(first) == 4 || !slices.Equal(s.got, want) {
			t.Errorf("got %q, and then all of %q, want some and then each once of %q", first, s.got, want)
		}
	})
}

// TestRun_storesItsPosition while it runs, when subscribers have been sent what is before it.
func TestRun_storesItsPosition(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position")
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config
		cfg.Position, cfg.Query.Follow = file, true
		done := make(chan error, 1)
		go func() {
			_, err := in.Run(ctx, s, f.log, cfg)
			done <- err
		}()
		time.Sleep(10 * time.Second)
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), `"behind":{"":1}`) {
			t.Errorf("got %s, %v, want the position of the record", data, err)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("got the files %v, %v, want one", left, err)
	}
}

// TestRun_aPositionThatIsNone is an error that names its file and what to do.
func TestRun_aPositionThatIsNone(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		f.messages(1, 2, time.Now(), "b")
		f.log.Drop(1)
		for text, want := range map[string]string{
			``:                                  "damaged",
			`{"log":"memory","behind":{"":`:     "damaged",
			`{"behind":{"":1}}`:                 "something is missing",
			`{"log":"memory","behind":{"":0}}`:  "damaged",
			`{"log":"memory","within":{}}`:      "damaged",
			`{"log":"stream A"}`:                "is one of stream A, and not of memory",
			`{"log":"memory","after":1}`:        "",
			`{"log":"memory","behind":{"":1}}`:  "",
			`{"log":"memory","behind":{"":-1}}`: "damaged",
		} {
			cfg := config
			cfg.Position = filepath.Join(dir, "position")
			if err := os.WriteFile(cfg.Position, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := s.run(f.log, cfg)
			var position *in.PositionError
			if want == "" && err == nil {
				continue
			}
			if !errors.As(err, &position) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), cfg.Position+": ") && !strings.Contains(err.Error(), cfg.Position+" is") || !strings.Contains(err.Error(), "remove this one") {
				t.Errorf("%s: got %v, want a *PositionError with %q", text, err, want)
			}
		}
		cfg := config
		cfg.Position = filepath.Join(dir, "no", "position")
		var position *in.PositionError
		if _, err := s.run(f.log, cfg); !errors.As(err, &position) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v, want a *PositionError of a folder that is not there", err)
		}
	})
}

// TestRun_aPositionThatIsGone: what the retention has dropped behind it is an error, and not left out.
func TestRun_aPositionThatIsGone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position")
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		cfg := config
		cfg.Position = file
		if _, err := s.run(f.log, cfg); err != nil {
			t.Fatal(err)
		}
		f.messages(1, 2, time.Now(), "b")
		f.messages(1, 3, time.Now(), "c")
		f.log.Drop(2)
		var position *in.PositionError
		var gap *durable.GapError
		if _, err := s.run(f.log, cfg); !errors.As(err, &position) || !errors.As(err, &gap) || gap.Want != 2 || gap.First != 3 {
			t.Errorf("got %v, want a *PositionError of the gap", err)
		}
		if _, err := s.run(memlog.New(1<<20, nil), cfg); !errors.As(err, &position) || !errors.Is(err, durable.ErrRefused) {
			t.Errorf("got %v, want a *PositionError of a log that was made again", err)
		}
	})
}

// TestRun_aPositionThatCannotBeStored is told once, and is an error at the end.
func TestRun_aPositionThatCannotBeStored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config
		cfg.Position, cfg.Query.Follow = filepath.Join(dir, "position"), true
		problems := make(chan error, 10)
		cfg.OnProblem = func(err error) { problems <- err }
		done := make(chan error, 1)
		go func() {
			_, err := in.Run(ctx, s, f.log, cfg)
			done <- err
		}()
		synctest.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		f.messages(1, 1, time.Now(), "a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.got) != 1 || len(problems) != 1 {
			t.Errorf("got %q and %d problems, want the message, and one", s.got, len(problems))
		}
		cancel()
		if err := <-done; !errors.Is(err, in.ErrNotStored) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("got %v, want ErrNotStored", err)
		}
	})
}

// TestRun_aPositionThatIsTaken: two runs that keep one position would publish the same, and each store what the other has passed.
func TestRun_aPositionThatIsTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "position")
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		cfg := config
		cfg.Position, cfg.Query.Follow = file, true
		problems := make(chan error, 10)
		cfg.OnProblem = func(err error) { problems <- err }
		begin := func() (end func() error) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := in.Run(ctx, s, f.log, cfg)
				done <- err
			}()
			synctest.Wait()
			return func() error { cancel(); return <-done }
		}
		taken := func() {
			t.Helper()
			var position *in.PositionError
			if _, err := s.run(f.log, cfg); !errors.As(err, &position) || !errors.Is(err, in.ErrPositionTaken) || !strings.HasSuffix(err.Error(), "name another file, or end that run") {
				t.Errorf("got %v, want a *PositionError with ErrPositionTaken", err)
			}
		}
		first := begin()
		taken()
		time.Sleep(time.Minute) // it has replaced the file since
		synctest.Wait()
		taken()
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		second := begin() // which finds no file, and makes one
		f.messages(1, 2, time.Now(), "b")
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(problems); n != 1 || !errors.Is(<-problems, in.ErrPositionTaken) {
			t.Errorf("the run whose file another one has made again: got %d problems, want one with ErrPositionTaken", n)
		}
		if err := first(); !errors.Is(err, in.ErrNotStored) || !errors.Is(err, in.ErrPositionTaken) {
			t.Errorf("its end: got %v, want ErrNotStored and ErrPositionTaken", err)
		}
		if err := second(); err != nil {
			t.Error(err)
		}
		if err := begin()(); err != nil { // it is free
			t.Error(err)
		}
	})
}
