// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pty"
)

// console is a pseudo-terminal of 80 x 24 with a program on it.
type console struct {
	t      *testing.T
	screen *os.File // what a person sees and types on
	inside *os.File
	before unix.Termios
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the program has

	mu      sync.Mutex
	shown   string        // all that was written so far
	changed chan struct{} // closed and replaced with each piece
}

// onConsole starts a program as the leader of a session that has a new terminal.
func onConsole(t *testing.T, args ...string) *console {
	t.Helper()
	screen, inside := pty.Open(t)
	c := &console{t: t, screen: screen, inside: inside, ended: make(chan struct{}), changed: make(chan struct{})}
	pty.SetSize(t, inside, 80, 24)
	c.before = pty.Settings(c.t, c.inside)
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Env = append(os.Environ(), "GORACE="+raceOptions, "TERM=xterm", "NO_COLOR=")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.inside, c.inside, c.inside
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	testkit.Must(t, c.cmd.Start())
	read := make(chan struct{})
	go c.read(read)
	go func() {
		_ = c.cmd.Wait() // the state tells
		close(c.ended)
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		<-c.ended
		c.inside.Close()
		c.screen.Close()
		<-read
	})
	return c
}

func (c *console) read(done chan<- struct{}) {
	defer close(done)
	piece := make([]byte, 4096)
	for {
		n, err := c.screen.Read(piece)
		c.mu.Lock()
		c.shown += string(piece[:n])
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// now returns how much was written so far.
func (c *console) now() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.shown)
}

// await waits until what is written behind from matches, and returns where that ends.
func (c *console) await(from int, pattern string) int {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		shown, changed := c.shown[from:], c.changed
		c.mu.Unlock()
		if at := re.FindStringIndex(shown); at != nil {
			return from + at[1]
		}
		select {
		case <-changed:
		case <-timeout:
			c.t.Fatalf("got %q, want %s", shown, pattern)
		}
	}
}

func (c *console) press(keys string) {
	c.t.Helper()
	if _, err := c.screen.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// finish waits for the end of the program, and holds it to the status and to a terminal that
// is as it was.
func (c *console) finish(status int) {
	c.t.Helper()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("no end within %v: %q", patience, c.shown)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != status {
		c.t.Errorf("got status %d, want %d", got, status)
	}
	if pty.Settings(c.t, c.inside) != c.before {
		c.t.Errorf("got settings of the terminal %+v, want %+v as before", pty.Settings(c.t, c.inside), c.before)
	}
}

const (
	takenOver = `\x1b\[\?1049h`
	givenBack = `\x1b\[0m\x1b\[\?7h\x1b\[\?25h\x1b\[\?1049l`
)

// slowBus starts a publisher, and two subscribers of which one is stopped.
func slowBus(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	archive := run(t, "archive", "subscriber", "--bus", dir, "--tags", "1-4", "--name", "archive")
	builder := run(t, "builder", "subscriber", "--bus", dir, "--tags", "1-4", "--name", "builder", "--policy", "drop-newest")
	run(t, "publisher", "publisher", "--bus", dir, "--tags", "1-4", "--name", "felix-01", "--emulate", "4KiB", "--rate", "5k", "--wait-subscribers", "2",
		"--queue-bytes", "2MiB", "--heartbeat-timeout", "10m")
	archive.await("subscribed .* tags")
	builder.await("subscribed .* tags")
	archive.signal(syscall.SIGSTOP)
	return dir
}

// TestTopShowsWhoIsSlow: a subscriber that is stopped makes its publisher red, and q gives
// the terminal back.
func TestTopShowsWhoIsSlow(t *testing.T) {
	notShort(t)
	t.Parallel()
	c := onConsole(t, "tagbus", "top", "--bus", slowBus(t), "--interval", "500ms")
	c.await(0, takenOver)
	c.await(0, `\x1b\[1;31m!felix-01 .* 1 archive *\x1b\[0m`)
	from := c.now()
	c.press("v")
	c.await(from, `\x1b\[1;31m!felix-01 +archive +\S+ +\d+ .* now\b[^\n]*\x1b\[0m`)
	from = c.now()
	c.press("/build\r")
	c.await(from, `only build`)
	from = c.now()
	pty.SetSize(t, c.inside, 40, 10)
	c.await(from, `\x1b\[10;1H`) // the line of keys is at the bottom
	c.press("q")
	c.await(from, givenBack+`$`)
	c.finish(0)
}

// TestTopIsStoppedAndGoesOn: ctrl-Z gives the terminal to the shell, and fg takes it back.
func TestTopIsStoppedAndGoesOn(t *testing.T) {
	notShort(t)
	t.Parallel()
	if _, err := exec.LookPath("dash"); err != nil {
		t.Skip("needs dash, a shell with job control: ", err)
	}
	c := onConsole(t, "dash", "-c", `set -m; tagbus top --bus "$0"; echo "stopped $?"; stty -a | grep -o ' .echo '; read answer; fg >/dev/null; echo "ended $?"`, t.TempDir())
	from := c.await(0, `q quit`)
	c.press("\x1a")
	from = c.await(from, givenBack)
	from = c.await(from, `stopped 1\d\d\r\n`) // 128 and the signal
	c.press("\n")
	from = c.await(from, takenOver)
	from = c.await(from, `q quit`)
	c.press("q")
	from = c.await(from, givenBack)
	c.await(from, `ended 0\r\n`)
	c.finish(0)
}

// TestTopGoesOnWithoutAShell: no other program could let it go on.
func TestTopGoesOnWithoutAShell(t *testing.T) {
	t.Parallel()
	c := onConsole(t, "tagbus", "top", "--bus", t.TempDir())
	from := c.await(0, `q quit`)
	c.press("\x1a")
	from = c.await(from, takenOver)
	c.await(from, `q quit`)
	c.press("q")
	c.finish(0)
}

// TestTopEndsBySignals: with the terminal as it was.
func TestTopEndsBySignals(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			c := onConsole(t, "tagbus", "top", "--bus", t.TempDir())
			from := c.await(0, `q quit`)
			testkit.Must(t, c.cmd.Process.Signal(s))
			c.await(from, givenBack+`$`)
			c.finish(0)
		})
	}
}

// TestTopWithoutATerminal prints tables, if it is told to.
func TestTopWithoutATerminal(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := slowBus(t)
	for range 60 { // how soon its queue is filling depends on the machine
		out, err := exec.Command("tagbus", "top", "--bus", dir, "--once", "--timeout", "1m").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.Split(string(out), "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[1], " NAME ") || strings.Contains(string(out), "\x1b") {
			t.Fatalf("got\n%s\nwant totals, titles and a row", out)
		}
		if strings.HasPrefix(lines[2], "!felix-01 ") {
			return
		}
	}
	t.Error("got no row of felix-01 that is marked, want one")
}
