// SPDX-License-Identifier: Apache-2.0

package members_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/directory/etcd/cmd/internal/members"
)

// do runs the command, and returns its exit code and what it says.
func do(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	var o, e bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	code = members.RunUntil(ctx, args, members.Streams{Out: &o, Err: &e})
	return code, o.String(), e.String()
}

// nextPorts counts the pairs of ports that were looked at, from anywhere on: none is handed out
// again soon, as it is free until a member listens.
var nextPorts = rand.IntN(900)

// freeAddress returns an address of this host whose port is free, as the next one is.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		nextPorts++
		port := 12_000 + 2*(nextPorts%900)
		if isFree(port) && isFree(port+1) {
			return fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	t.Fatal("got no two ports that are free, want some")
	return ""
}

// isFree reports whether nothing listens at a port.
func isFree(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	return err == nil && l.Close() == nil
}

// closed is a pipe without a reader.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

// TestAReaderThatHasGone wants no more, and that is no failure.
func TestAReaderThatHasGone(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"run", "--help"}, {"status", "--help"}, {"--version"}} {
		var errs bytes.Buffer
		if code := members.RunUntil(t.Context(), args, members.Streams{Out: closed{}, Err: &errs}); code != 0 || errs.Len() > 0 {
			t.Errorf("%v: got %d and %q, want 0 and no word", args, code, &errs)
		}
	}
}

func TestCommandLines(t *testing.T) {
	defer func(was time.Duration) { *members.AnswerTime = was }(*members.AnswerTime)
	*members.AnswerTime = time.Second // no member answers here
	tests := []struct {
		name      string
		args      []string
		code      int
		out, errs string
	}{
		{"help", []string{"--help"}, 0, "The first member: tagbus-directory --data DIR --listen HOST.", ""},
		{"help of a member", []string{"run", "--help"}, 0, "--join=HOST[:PORT],...", ""},
		{"version", []string{"--version"}, 0, "tagbus-directory ", ""},
		{"no folder", nil, 2, "", "tagbus-directory: --data: invalid configuration: give the path of a folder\ntagbus-directory: see tagbus-directory --help\n"},
		{"a flag that does not exist", []string{"--dta", "x"}, 2, "", "unknown flag --dta"},
		{"a quota that is too small", []string{"--data", "x", "--quota", "5"}, 2, "", "--quota 5: invalid configuration: want 16777216 to"},
		{"half of TLS", []string{"--data", "x", "--cert", "x"}, 2, "", "--key: invalid configuration: give all three files of TLS, or none"},
		{"an address that is none", []string{"status", "--at", "a/b"}, 2, "", "--at a/b: invalid configuration: want HOST or HOST:PORT"},
		{"a file that does not exist", []string{"--config", "/does/not/exist.toml", "--data", "x"}, 2, "", "--config /does/not/exist.toml: open"},
		{"a file without an end", []string{"--config", "/dev/zero", "--data", "x"}, 2, "", "--config /dev/zero: read /dev/zero: more than 16 MiB: this is another file"},
		{"a member that does not answer", []string{"status", "--at", "127.0.0.1:1"}, 1, "", "no member answers at http://127.0.0.1:1: "},
		{"a member that does not answer, for a snapshot", []string{"snapshot", "--at", "127.0.0.1:1", "/does/not/exist"}, 1, "", "no member answers at http://127.0.0.1:1: "},
		{"a member that does not answer, to compact", []string{"compact", "--at", "127.0.0.1:1"}, 1, "", "no member answers at http://127.0.0.1:1: "},
		{"a member with certificates, perhaps", []string{"status", "--at", "127.0.0.1:1"}, 1, "", "and that it has no certificates (if it has: --cert, --key and --ca); "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, out, err := do(t, test.args...)
			if code != test.code || !strings.Contains(out, test.out) || !strings.Contains(err, test.errs) {
				t.Errorf("got %d, %q, %q, want %d, %q, %q", code, out, err, test.code, test.out, test.errs)
			}
		})
	}
}

func TestSettingsOfEnvironmentAndFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "directory.toml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	quota := func(want string, args ...string) {
		t.Helper()
		if code, _, err := do(t, append([]string{"--data", "x"}, args...)...); code != 2 || !strings.Contains(err, want) {
			t.Errorf("got %d, %q, want 2 and %q", code, err, want)
		}
	}
	write("quota = 7\njoin = [\"pc-07\", \"pc-08:1\"]\n")
	quota("--quota 7:", "--config", file)
	t.Setenv("TAGBUS_QUOTA", "6")
	quota("--quota 6:", "--config", file)
	quota("--quota 5:", "--config", file, "--quota", "5")
	write("qutoa = 7\n")
	quota(`unknown key "qutoa"`, "--config", file)
	t.Setenv("TAGBUS_CONFIG", file)
	quota(`unknown key "qutoa"`)
	write("quota = \n")
	quota(file)
}

// running is a member that runs until the test ends.
type running struct {
	Name, Clients, URL string

	stop func() int // returns the exit code
	wait func() int // the same, without an end to it
}

// runMember runs one, and returns once the directory works.
func runMember(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	var said bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- members.RunUntil(ctx, append(args, "--json"), members.Streams{Out: in, Err: &said})
		_ = in.Close()
	}()
	m := new(running)
	if err := json.NewDecoder(out).Decode(m); err != nil {
		cancel()
		t.Fatalf("got %v and %d from the member, which said %s", err, <-ended, said.String())
	}
	stopped := false
	m.wait = func() int {
		if stopped {
			return 0
		}
		stopped = true
		return <-ended
	}
	m.stop = func() int {
		cancel()
		return m.wait()
	}
	t.Cleanup(func() {
		if code := m.stop(); code != 0 {
			t.Errorf("got exit code %d of %s, want 0; it said %s", code, m.Name, said.String())
		}
	})
	return m
}

// What an operator does with a directory of two members, and then of one.
func TestTheLifeOfADirectory(t *testing.T) {
	at, other := freeAddress(t), freeAddress(t)
	first := runMember(t, "--data", t.TempDir(), "--listen", at, "--name", "first")
	if want := "etcd://" + at + "/NAME"; first.URL != want || first.Clients != at {
		t.Errorf("got %s at %s, want %s", first.URL, first.Clients, want)
	}
	said := notified(t) // of the second one
	second := runMember(t, "--data", t.TempDir(), "--listen", other, "--name", "second", "--join", at)
	wants := func(code int, words []string, want ...string) {
		t.Helper()
		got, out, err := do(t, append(words, "--at", at)...)
		if got != code {
			t.Errorf("%v: got exit code %d, want %d", words, got, code)
		}
		for _, w := range want {
			if !strings.Contains(out+err, w) {
				t.Errorf("%v: got %q, want %q in it", words, out+err, w)
			}
		}
	}
	wants(0, []string{"status"}, "first", "second", "leader", "follower", "nothing is wrong", "note: 2 members survive the loss of none")
	wants(0, []string{"status", "--json"}, `"name":"first"`, `"role":"leader"`, `"entries":0`)
	snapshot := filepath.Join(t.TempDir(), "snapshot.db")
	wants(0, []string{"snapshot", snapshot}, "To restore it: etcdutl snapshot restore")
	if info, err := os.Stat(snapshot); err != nil || info.Size() < 16<<10 {
		t.Errorf("got %v, %v of the snapshot, want a file of at least 16 KiB", info, err)
	}
	wants(1, []string{"snapshot", snapshot}, "exists: give another name")
	wants(0, []string{"compact"}, "first: ", "second: ")
	wants(0, []string{"compact", "--json"}, `{"name":"first"`)
	wants(1, []string{"remove", "third"}, "the directory has no member third: it has ")
	wants(0, []string{"remove", "second", "--json"}, `{"name":"second"`)
	if code := second.wait(); code != 1 {
		t.Errorf("got exit code %d of a member that was removed, want 1", code)
	}
	if got := said(); !strings.Contains(got, "READY=1\nSTATUS=serving etcd://") {
		t.Errorf("got %q for the service manager, want READY=1 and the URL", got)
	}
	wants(1, []string{"remove", "first"}, "first is the only member")
}

// TestASignalEndsWhatWaitsForAMember, and is what is said: etcd knows of a cancelled context only.
func TestASignalEndsWhatWaitsForAMember(t *testing.T) {
	for _, args := range [][]string{{"status"}, {"remove", "x"}, {"compact"}, {"snapshot", "/does/not/exist"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("stopped by signal: terminated"))
		var errs bytes.Buffer
		code := members.RunUntil(ctx, append(args, "--at", "127.0.0.1:1"), members.Streams{Out: io.Discard, Err: &errs})
		if want := "tagbus-directory: stopped by signal: terminated\n"; code != 1 || errs.String() != want {
			t.Errorf("%v: got %d and %q, want 1 and %q", args, code, &errs, want)
		}
	}
}

func TestWhatIsWrong(t *testing.T) {
	up := func(name, role string) members.OneMember {
		return members.OneMember{Name: name, Clients: name + ":2379", Role: role, Up: true, Database: 1 << 20, InUse: 1 << 20, Quota: 2 << 30}
	}
	down := members.OneMember{Name: "c", Clients: "c:2379"}
	full, loose := up("a", "leader"), up("a", "leader")
	full.Database = 2 << 30
	full.InUse = full.Database
	loose.Database = 500 << 20
	tests := []struct {
		name        string
		members     []members.OneMember
		wrong, note string
	}{
		{"nothing", []members.OneMember{up("a", "leader"), up("b", "follower"), up("c", "follower")}, "", ""},
		{"one of three is down", []members.OneMember{up("a", "leader"), up("b", "follower"), down}, "c does not answer at c:2379: start it", ""},
		{"two of three are down", []members.OneMember{up("a", "alone"), down, down}, "1 of 3 members are up: the directory takes no changes until 2 are", ""},
		{"one sees no leader", []members.OneMember{up("a", "leader"), up("b", "follower"), up("c", "alone")}, "c sees no leader", ""},
		{"one has not started", []members.OneMember{up("a", "leader"), {ID: "12ab", Members: "c:2380", Role: "learner"}}, "c:2380 was added and has not started: ", ""},
		{"two", []members.OneMember{up("a", "leader"), up("b", "follower")}, "", "2 members survive the loss of none"},
		{"nearly full", []members.OneMember{full}, "the database of a has 2.0 GiB of 2.0 GiB", ""},
		{"much is unused", []members.OneMember{loose}, "", "499 MiB of the database of a are unused"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wrong, notes := members.Judge(0, test.members...)
			if got := strings.Join(wrong, "\n"); !strings.Contains(got, test.wrong) || test.wrong == "" && got != "" {
				t.Errorf("wrong: got %q, want %q", got, test.wrong)
			}
			if got := strings.Join(notes, "\n"); !strings.Contains(got, test.note) || test.note == "" && got != "" {
				t.Errorf("notes: got %q, want %q", got, test.note)
			}
		})
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 150 << 10: "150 KiB", 3 << 19: "1.5 MiB", 2 << 30: "2.0 GiB", 1 << 41: "2048 GiB"} {
		if got := members.Size(bytes); got != want {
			t.Errorf("Size(%d): got %s, want %s", bytes, got, want)
		}
	}
}

// notified returns what the service manager is told until a member stops.
func notified(t *testing.T) (said func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		var all strings.Builder
		buffer := make([]byte, 1024)
		for !strings.Contains(all.String(), "STOPPING=1") {
			n, err := socket.Read(buffer)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(append(buffer[:n], '\n'))
		}
		if err := socket.Close(); err != nil {
			t.Error(err)
		}
		return all.String()
	}
}
