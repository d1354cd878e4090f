// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/screen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openTerminal returns both ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (outside, inside *os.File) {
	t.Helper()
	outside, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { outside.Close() })
	raw, err := outside.SyscallConn() // not outside.Fd, which would make reading it blind to deadlines
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	inside, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { inside.Close() })
	return outside, inside
}

func setSize(t *testing.T, f *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Fatal(err)
	}
}

func settings(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	got, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *got
}

// readUntil reads what is shown until want is.
func readUntil(t *testing.T, outside *os.File, want string) string {
	t.Helper()
	if err := outside.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	shown, piece := "", make([]byte, 1000)
	for !strings.Contains(shown, want) {
		n, err := outside.Read(piece)
		shown += string(piece[:n])
		if err != nil {
			t.Fatalf("got %q and %v, want %q", shown, err, want)
		}
	}
	return shown
}

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
	outside, inside := openTerminal(t)
	before := settings(t, inside)
	setSize(t, inside, 100, 30)
	s, err := screen.Open(inside, inside)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if now := settings(t, inside); now.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 {
		t.Errorf("got flags %#x, want no echo, no lines and no signals", now.Lflag)
	}
	if w, h := s.Size(); w != 100 || h != 30 {
		t.Errorf("got %d x %d, want 100 x 30", w, h)
	}
	if err := s.Draw([]string{"one", "two"}); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J\x1b[0m\x1b[H\x1b[2J\x1b[1;1H\x1b[2Kone\x1b[0m\x1b[2;1H\x1b[2Ktwo\x1b[0m"
	if got := readUntil(t, outside, "two\x1b[0m"); got != want {
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
	if got, want := readUntil(t, outside, "\x1b[?1049l"), "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if diff := cmp.Diff(before, settings(t, inside)); diff != "" {
		t.Errorf("settings (-before +after):\n%s", diff)
	}
}

func TestSignalsAreKeys(t *testing.T) {
	_, inside := openTerminal(t)
	s, err := screen.Open(inside, inside)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, test := range []struct {
		signal syscall.Signal
		want   screen.Key
	}{{syscall.SIGWINCH, screen.Resize}, {syscall.SIGTSTP, screen.Suspend}, {syscall.SIGHUP, screen.Quit}, {syscall.SIGCONT, screen.Redraw}} {
		if signal.Ignored(test.signal) {
			continue // nohup, which is respected
		}
		if err := syscall.Kill(os.Getpid(), test.signal); err != nil {
			t.Fatal(err)
		}
		if got := next(t, s); got != test.want {
			t.Errorf("%v: got key %d, want %d", test.signal, got, test.want)
		}
	}
}

func TestATerminalThatGoesIsAnEnd(t *testing.T) {
	outside, inside := openTerminal(t)
	s, err := screen.Open(inside, inside)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	outside.Close()
	if got := next(t, s); got != screen.Quit {
		t.Errorf("got key %d, want %d", got, screen.Quit)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := screen.Open(file, file); !errors.Is(err, screen.ErrNoTerminal) {
		t.Errorf("got %v, want ErrNoTerminal", err)
	}
}

// TestATerminalThatHasGone is told from one that fails: there is nothing to draw on, and nothing to give
// back.
func TestATerminalThatHasGone(t *testing.T) {
	outside, inside := openTerminal(t)
	s, err := screen.Open(inside, inside)
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.Close(); err != nil {
		t.Fatal(err)
	}
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
