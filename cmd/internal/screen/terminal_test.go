// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen_test

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/screen"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func next(t *testing.T, s *screen.Terminal) screen.Key {
	t.Helper()
	select {
	case k := <-s.Keys():
		return k
	case <-time.After(20 * time.Second):
		t.Fatal("got no key in 20s")
		return 0
	}
}

func TestATerminalIsTakenOverAndGivenBack(t *testing.T) {
	outside, inside := pty.Open(t)
	before := pty.Settings(t, inside)
	pty.SetSize(t, inside, 100, 30)
	s, err := screen.Open(inside, inside)
	testkit.Must(t, err)
	defer s.Close()
	if now := pty.Settings(t, inside); now.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 {
		t.Errorf("got flags %#x, want no echo, no lines and no signals", now.Lflag)
	}
	if w, h := s.Size(); w != 100 || h != 30 {
		t.Errorf("got %d x %d, want 100 x 30", w, h)
	}
	testkit.Must(t, s.Draw([]string{"one", "two"}))
	want := "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J\x1b[0m\x1b[H\x1b[2J\x1b[1;1H\x1b[2Kone\x1b[0m\x1b[2;1H\x1b[2Ktwo\x1b[0m"
	if got := pty.ReadUntil(t, outside, "two\x1b[0m"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := outside.WriteString("q\x1b[A\x1b"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []screen.Key{'q', screen.Up, screen.Escape} {
		if got := next(t, s); got != want {
			t.Errorf("got key %d, want %d", got, want)
		}
	}
	for _, err := range []error{s.Close(), s.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	if got, want := pty.ReadUntil(t, outside, "\x1b[?1049l"), "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, pty.Settings(t, inside)); diff != "" {
		t.Errorf("settings (-before +after):\n%s", diff)
	}
}

func TestSignalsAreKeys(t *testing.T) {
	_, inside := pty.Open(t)
	s, err := screen.Open(inside, inside)
	testkit.Must(t, err)
	defer s.Close()
	for _, test := range []struct {
		signal syscall.Signal
		want   screen.Key
	}{{syscall.SIGWINCH, screen.Resize}, {syscall.SIGTSTP, screen.Suspend}, {syscall.SIGHUP, screen.Quit}, {syscall.SIGCONT, screen.Redraw}} {
		if signal.Ignored(test.signal) {
			continue // nohup, which is respected
		}
		testkit.Must(t, syscall.Kill(os.Getpid(), test.signal))
		if got := next(t, s); got != test.want {
			t.Errorf("%v: got key %d, want %d", test.signal, got, test.want)
		}
	}
}

func TestATerminalThatGoesIsAnEnd(t *testing.T) {
	outside, inside := pty.Open(t)
	s, err := screen.Open(inside, inside)
	testkit.Must(t, err)
	defer s.Close()
	outside.Close()
	if got := next(t, s); got != screen.Quit {
		t.Errorf("got key %d, want %d", got, screen.Quit)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	testkit.Must(t, err)
	defer file.Close()
	if _, err := screen.Open(file, file); !errors.Is(err, screen.ErrNoTerminal) {
		t.Errorf("got %v, want ErrNoTerminal", err)
	}
}

// TestATerminalThatHasGone is told from one that fails: there is nothing to draw on, and nothing to give
// back.
func TestATerminalThatHasGone(t *testing.T) {
	outside, inside := pty.Open(t)
	s, err := screen.Open(inside, inside)
	testkit.Must(t, err)
	testkit.Must(t, outside.Close())
	if k := <-s.Keys(); k != screen.Quit {
		t.Errorf("got key %v, want Quit", k)
	}
	if err := s.Draw([]string{"x"}); !errors.Is(err, screen.ErrGone) {
		t.Errorf("drawing: got %v, want %v", err, screen.ErrGone)
	}
	if err := s.Resume(); !errors.Is(err, screen.ErrGone) {
		t.Errorf("resuming: got %v, want %v", err, screen.ErrGone)
	}
	if err := s.Close(); !errors.Is(err, screen.ErrGone) {
		t.Errorf("closing: got %v, want %v", err, screen.ErrGone)
	}
}
