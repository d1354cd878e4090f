// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/node"
)

// manager is a service manager as far as a service sees it: a socket.
type manager struct {
	tb   testing.TB
	conn *net.UnixConn
}

// newManager makes the programs that are started from now on services.
func newManager(t *testing.T) *manager {
	t.Helper()
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	testkit.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	t.Setenv("NOTIFY_SOCKET", name)
	return &manager{t, conn}
}

// next waits for what the service says next.
func (m *manager) next() string {
	m.tb.Helper()
	testkit.Must(m.tb, m.conn.SetReadDeadline(time.Now().Add(patience)))
	b := make([]byte, 100)
	n, err := m.conn.Read(b)
	if err != nil {
		m.tb.Fatalf("the service says no more: %v", err)
	}
	return string(b[:n])
}

// expect fails unless the service says exactly these states.
func (m *manager) expect(states ...string) {
	m.tb.Helper()
	for _, want := range states {
		if got := m.next(); got != want {
			m.tb.Fatalf("the service says %q, want %q", got, want)
		}
	}
}

func TestAServiceIsReadyWhenItCanBeFound(t *testing.T) {
	m, bus := newManager(t), t.TempDir()
	p := run(t, "publisher", "publisher", "--bus", bus, "--tags", "1", "--emulate", "16", "--rate", "10")
	m.expect("READY=1")
	n, err := node.Open(node.Config{Bus: bus})
	testkit.Must(t, err)
	defer n.Close()
	if entries, err := n.Directory().List(); len(entries) != 1 || err != nil {
		t.Errorf("got %d entries in the directory and error %v, want 1 and nil", len(entries), err)
	}
	p.signal(syscall.SIGTERM)
	m.expect("STOPPING=1")
}

// TestAServiceIsReadyBeforeThereIsAPublisher: units start in any order.
func TestAServiceIsReadyBeforeThereIsAPublisher(t *testing.T) {
	for _, how := range []string{"subscribing", "receiving"} {
		t.Run(how, func(t *testing.T) {
			m := newManager(t)
			args := []string{"subscriber", "--bus", t.TempDir(), "--tags", "1"}
			if how == "receiving" {
				args = append(args, "--receive")
			}
			s := run(t, "subscriber", args...)
			m.expect("READY=1")
			s.signal(syscall.SIGINT)
			m.expect("STOPPING=1")
		})
	}
}

// TestAServiceThatEndsByItselfSaysSo before it waits for its subscribers.
func TestAServiceThatEndsByItselfSaysSo(t *testing.T) {
	m := newManager(t)
	p := run(t, "publisher", "publisher", "--bus", t.TempDir(), "--tags", "1", "--emulate", "16", "--count", "1")
	m.expect("READY=1", "STOPPING=1")
	<-p.ended
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// TestAServiceGivesSignsOfLifeWhileItsLoopRuns and no more once it hangs.
func TestAServiceGivesSignsOfLifeWhileItsLoopRuns(t *testing.T) {
	m := newManager(t)
	t.Setenv("WATCHDOG_USEC", strconv.FormatInt((100*time.Millisecond).Microseconds(), 10))
	t.Setenv("WATCHDOG_PID", "") // any process
	s := run(t, "subscriber", "subscriber", "--bus", t.TempDir(), "--tags", "1")
	m.expect("READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1")
	s.signal(syscall.SIGTERM)
	for state := m.next(); state != "STOPPING=1"; state = m.next() {
		if state != "WATCHDOG=1" {
			t.Errorf("the service says %q, want WATCHDOG=1 or STOPPING=1", state)
		}
	}
}

func TestAServiceSaysThatItsManagerIsNotThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "gone")
	t.Setenv("NOTIFY_SOCKET", name)
	s := run(t, "subscriber", "subscriber", "--bus", t.TempDir(), "--tags", "1")
	s.await(` subscriber: systemd was not told READY=1, and may end the command: dial unixgram .*: connect: no such file or directory$`)
	s.signal(syscall.SIGTERM)
}
