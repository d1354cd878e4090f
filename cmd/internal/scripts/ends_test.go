// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/bus"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/internal/testkit"
	"tagbus/recording"
)

// takeSignals gives programs the signals that a shell lets the tests ignore, as one does that
// runs them in the background.
func takeSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// stackLine is one of the stacks of a program.
var stackLine = regexp.MustCompile(`^goroutine \d+ `)

// ending is a program that runs until a signal.
type ending struct {
	name   string
	args   []string
	runs   string         // matches a line once it does
	signal syscall.Signal // that it gets unless all are tried
	file   string         // a recording that it writes
}

// endings returns all programs that run until a signal.
func endings(t *testing.T) []ending {
	old := filepath.Join(t.TempDir(), "old.tbr")
	writeOneMessage(t, old)
	return []ending{
		{"publisher", []string{"publisher", "--bus", "DIR/bus", "--tags", "1", "--emulate", "16", "--rate", "10"}, "publishes on", syscall.SIGQUIT, ""},
		{"subscriber", []string{"subscriber", "--bus", "DIR/bus", "--tags", "1"}, "receiving|waiting", syscall.SIGXCPU, ""},
		{"subscriber --receive", []string{"subscriber", "--bus", "DIR/bus", "--tags", "1", "--receive", "--output", "DIR/out"}, "receives", syscall.SIGHUP, ""},
		{"publisher --send", []string{"publisher", "--bus", "DIR/bus", "--tags", "1", "--send", "--emulate", "16"}, "sends", syscall.SIGHUP, ""},
		{"record", []string{"tagbus", "--bus", "DIR/bus", "record", "1", "DIR/run.tbr"}, "recording 0x", syscall.SIGHUP, "run.tbr"},
		{"replay", []string{"tagbus", "--bus", "DIR/bus", "replay", old, "--wait-subscribers", "1"}, "waiting for 1 subscriber", syscall.SIGPWR, ""},
		{"pub", []string{"tagbus", "--bus", "DIR/bus", "pub", "1", "--size", "16", "--wait", "0"}, "publishes on", syscall.SIGHUP, ""},
		{"sub", []string{"tagbus", "--bus", "DIR/bus", "sub", "1", "--policy", "block"}, "publishers wait", syscall.SIGHUP, ""},
		{"mirror", []string{"tagbus", "mirror", "DIR/bus", "DIR/other"}, "copying", syscall.SIGQUIT, ""},
		{"web", []string{"tagbus", "--bus", "DIR/bus", "web", "--listen", "127.0.0.1:0"}, "http://", syscall.SIGHUP, ""},
		{"bench serve", []string{"tagbus", "--bus", "DIR/bus", "bench", "serve"}, "serves on", syscall.SIGXCPU, ""},
		{"ls --watch", []string{"tagbus", "--bus", "DIR/bus", "ls", "--watch"}, `^\d\d:\d\d:\d\d$`, syscall.SIGHUP, ""},
	}
}

// writeOneMessage writes a recording.
func writeOneMessage(t *testing.T, name string) {
	t.Helper()
	writeMessages(t, name, 1, 0, 0)
}

// writeMessages makes a recording of messages of tag 1.
func writeMessages(t *testing.T, name string, count, bytes int, every time.Duration) {
	t.Helper()
	m := bus.Message{Tag: 1, Data: make([]byte, bytes), Publisher: &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA"}}
	rectest.Write(t, name, recording.Header{}, recording.Config{}, func(yield func(recording.Record) bool) {
		for at := time.Now(); m.Counter < uint64(count); at = at.Add(every) {
			m.Counter++
			yield(rectest.Message(at, m))
		}
	})
}

// TestEveryProgramEndsInOrder by each signal that would kill it, now or soon.
func TestEveryProgramEndsInOrder(t *testing.T) {
	t.Parallel()
	for _, e := range endings(t) {
		signals := []syscall.Signal{e.signal}
		if testkit.All() {
			signals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGXCPU, syscall.SIGPWR}
		}
		for _, s := range signals {
			t.Run(e.name+" by "+unix.SignalName(s), func(t *testing.T) {
				t.Parallel()
				e.try(t, s)
			})
		}
	}
}

func (e ending) try(t *testing.T, s syscall.Signal) {
	dir := t.TempDir()
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "bus"), 0o700))
	// What it prints is in the way of what it says.
	args := []string{"sh", "-c", `exec "$@" >&2`, "sh"}
	for _, arg := range e.args {
		args = append(args, strings.ReplaceAll(arg, "DIR", dir))
	}
	p := run(t, e.name, args...)
	p.await(e.runs)
	p.signal(s)
	statuses := []int{0}
	if s == syscall.SIGQUIT {
		statuses = append(statuses, 1) // it takes too long: see quitTime of package signals
	}
	p.finish(statuses...)
	if hasStacks := p.find(stackLine) != ""; hasStacks != (s == syscall.SIGQUIT) {
		t.Errorf("got stacks: %t, want them at SIGQUIT only", hasStacks)
	}
	if e.file == "" || p.cmd.ProcessState.ExitCode() != 0 {
		return
	}
	report, err := verified(filepath.Join(dir, e.file))
	testkit.Must(t, err)
	if f := report.Files[0]; !f.Indexed {
		t.Errorf("got %+v, want a recording that was closed", f)
	}
}

// TestWhatIsIgnoredEndsNoProgram: nohup ignores SIGHUP, and a script ignores SIGINT for what
// it runs in the background.
func TestWhatIsIgnoredEndsNoProgram(t *testing.T) {
	t.Parallel()
	// Providers of libfabric (psm) take these signals when they are loaded, which is before
	// anything of Go runs, unless they are told not to.
	p := run(t, "publisher", "sh", "-c", `trap "" HUP INT; IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 exec "$@"`, "sh", "publisher", "--bus", t.TempDir(), "--tags", "1", "--emulate", "16", "--rate", "10")
	p.await("publishes on")
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT} {
		p.signal(s)
	}
	p.signal(syscall.SIGPWR) // which names itself: the others did not end it
	p.finish(0)
	p.await("SIGPWR: the power fails: ending in order")
}

// hangUp takes the terminal away from the programs on a console, and waits for the end of the
// first one.
func (c *console) hangUp(status int) {
	c.t.Helper()
	testkit.Must(c.t, c.screen.Close())
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatalf("no end within %v of the terminal: %q", patience, c.shown)
	}
	if got := c.cmd.ProcessState.ExitCode(); got != status {
		c.t.Errorf("got status %d (-1: killed by %v), want %d", got, c.cmd.ProcessState, status)
	}
}

// TestTheTerminalGoesAway at a beam test: the recording is closed, and the subscriber is told
// goodbye.
func TestTheTerminalGoesAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "run.tbr")
	policy := filepath.Join(dir, "policy.json")
	testkit.Must(t, os.WriteFile(policy, []byte(`{"rules": [{"who": "anonymous", "publish": "*", "subscribe": "*", "describe": "*"}]}`), 0o600))
	sub := run(t, "subscriber", "subscriber", "--bus", dir, "--tags", "1", "--verify", "--until-goodbye", "--heartbeat-timeout", "10m")
	publisher := onConsole(t, "publisher", "--bus", dir, "--tags", "1", "--emulate", "16", "--rate", "1k", "--acl", policy)
	publisher.await(0, "publishes on")
	recorder := onConsole(t, "sh", "-c", `"$@"; exit $?`, "sh", "tagbus", "--bus", dir, "record", "1", file)
	recorder.await(0, "subscribed")
	sub.await(`subscribed \S+@`) // to the publisher, whose goodbye it waits for
	from := publisher.now()
	testkit.Must(t, publisher.cmd.Process.Signal(syscall.SIGHUP))
	publisher.await(from, "SIGHUP: certificates and policy were read again")
	waitRecorded(t, file, "messages", func(*recording.Report) bool { return true })
	recorder.hangUp(-1) // the shell has no reason to go on
	publisher.hangUp(0)
	sub.finish(0)
	// The recorder is not a child of the test.
	waitRecorded(t, file, "a recording that was closed", func(r *recording.Report) bool { return r.Files[0].Indexed && r.Total().Missing == 0 })
}

// waitRecorded waits until a recording has messages, and is as it must be.
func waitRecorded(t *testing.T, file, want string, is func(*recording.Report) bool) {
	t.Helper()
	for begun := time.Now(); ; idle(20 * time.Millisecond) {
		report, err := verified(file)
		if err == nil && report.Total().Messages > 0 && is(report) {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("got %+v, %v, want %s", report, err, want)
		}
	}
}

// TestTheReaderOfWhatIsSaidGoes: "record 2>&1 | less" is left with q, and goes on recording.
func TestTheReaderOfWhatIsSaidGoes(t *testing.T) {
	t.Parallel()
	// A program that lives exchanges a message with one of these, which ends then.
	others := map[string][]string{
		"publisher":            {"subscriber", "--count", "1"},
		"subscriber":           {"publisher", "--emulate", "16", "--count", "1", "--wait-subscribers", "1"},
		"subscriber --receive": {"publisher", "--send", "--emulate", "16", "--count", "1"},
		"publisher --send":     {"subscriber", "--receive", "--count", "1"},
		"record":               {"publisher", "--emulate", "16", "--count", "1", "--wait-subscribers", "1"},
	}
	for _, e := range endings(t)[:5] {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			testkit.Must(t, os.Mkdir(filepath.Join(dir, "bus"), 0o700))
			args := slices.Clone(e.args)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "DIR", dir)
			}
			reader, writer, err := os.Pipe()
			testkit.Must(t, err)
			cmd := exec.Command(args[0], append(args[1:], "--log-level", "debug")...)
			if e.name == "record" {
				cmd = exec.Command(args[0], args[1:]...)
			}
			cmd.Env = append(os.Environ(), "GORACE="+raceOptions)
			cmd.Stdout, cmd.Stderr = writer, writer
			testkit.Must(t, cmd.Start())
			var failed error
			ended := make(chan struct{})
			go func() {
				failed = cmd.Wait()
				close(ended)
			}()
			t.Cleanup(func() {
				_ = cmd.Process.Kill() // it may have ended
				<-ended
			})
			writer.Close()
			if _, err := reader.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			reader.Close()
			run(t, "other", append(others[e.name], "--bus", filepath.Join(dir, "bus"), "--tags", "1")...).finish(0)
			if e.name == "record" {
				waitRecorded(t, filepath.Join(dir, e.file), "messages", func(*recording.Report) bool { return true })
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatalf("got %v, want a program that lives", err)
			}
			select {
			case <-ended:
				if failed != nil {
					t.Errorf("got %v, want status 0", failed)
				}
			case <-time.After(patience):
				t.Errorf("no end within %v", patience)
			}
		})
	}
}
