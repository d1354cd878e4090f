// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// kinds are the ways to start what is driven, by language.
func kinds(t *testing.T) map[string]language {
	t.Helper()
	lib := clib.Build(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-std=c11"}, strict...)
	c := clib.Compile(t, "gcc", "driven", append(append(args, "bindings/testdata/driven.c"), clib.Link(lib)...)...)
	all := map[string]language{
		"go": {name: "go", start: func(string) []string { return []string{self} }, env: []string{"TAGBUS_TEST_DRIVEN=1"}},
		"c":  {name: "c", start: func(string) []string { return []string{c} }},
	}
	if exec.Command(interpreter, "-c", "import cffi, numpy").Run() != nil {
		t.Run("python", func(t *testing.T) { t.Skip("needs cffi and numpy (Debian: python3-cffi python3-numpy)") })
		return all
	}
	root := clib.Root(t)
	all["python"] = language{name: "python", start: func(string) []string {
		return []string{interpreter, filepath.Join(root, "bindings", "testdata", "driven.py")}
	}, env: []string{
		"PYTHONPATH=" + filepath.Join(root, "bindings", "python"), "TAGBUS_LIB=" + filepath.Join(lib, "libtagbus.so.0"), "PYTHONDONTWRITEBYTECODE=1",
	}}
	return all
}

// pair is a publisher and a subscriber, of which one is in Go.
type pair struct{ publisher, subscriber language }

func (p pair) String() string { return p.publisher.name + "-" + p.subscriber.name }

// eachPair runs a test with each language as publisher and as subscriber of Go.
//
//   - turn: whether Python is the subscriber (0), the publisher (1) or neither, unless TAGBUS_TESTS=all.
func eachPair(t *testing.T, turn int, test func(t *testing.T, p pair)) {
	t.Helper()
	all := kinds(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name == "go" {
			continue
		}
		for i, p := range []pair{{all["go"], all[name]}, {all[name], all["go"]}} {
			if name == "python" && i != turn && !testkit.All() {
				continue
			}
			t.Run(p.String(), func(t *testing.T) { t.Parallel(); test(t, p) })
		}
	}
}

// peer is a program that is driven.
type peer struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	err  bytes.Buffer
}

// drive starts a program on a bus. It is ended with the test, in order or not.
//
//   - options: of the bus, in one text or none.
func (l language) drive(t *testing.T, folder string, options ...string) *peer {
	t.Helper()
	patience := 3 * time.Minute
	if testkit.All() {
		patience = time.Hour
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	args := append(append(l.start("driven"), folder), options...)
	p := &peer{t: t, name: l.name, cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	p.cmd.Env = append(os.Environ(), l.env...)
	p.cmd.Stderr = &p.err
	in, errIn := p.cmd.StdinPipe()
	out, errOut := p.cmd.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", p.name, &p.err)
		}
	})
	p.ok()
	return p
}

// say has a peer begin a command. ok awaits its end.
func (p *peer) say(command string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		p.t.Fatalf("%s: %s: %v\n%s", p.name, command, err, &p.err)
	}
}

func (p *peer) ok() (result uint64) {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	word, text, _ := strings.Cut(strings.TrimSpace(line), " ")
	if text != "" && err == nil {
		result, err = strconv.ParseUint(text, 10, 64)
	}
	if word != "ok" || err != nil {
		p.t.Fatalf("%s: got %q, %v", p.name, line, err)
	}
	return result
}

func (p *peer) do(commands ...string) (result uint64) {
	p.t.Helper()
	for _, command := range commands {
		p.say(command)
		result = p.ok()
	}
	return result
}

// account returns what a peer has received and what it knows of it.
func (p *peer) account() (a account) {
	p.t.Helper()
	p.say("account")
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		p.t.Fatalf("%s: %v: %s\n%s", p.name, err, line, &p.err)
	}
	return a
}

// awaits asks for the account until something is so.
func (p *peer) awaits(so func(a account) bool) {
	p.t.Helper()
	for !so(p.account()) {
		if p.t.Context().Err() != nil {
			p.t.Fatal("the test is over")
		}
	}
}

// caughtUp returns the account when the program has taken what its library has received: messages wait for it,
// and events do not.
func (p *peer) caughtUp() account {
	p.t.Helper()
	s := p.account().Subscriber
	p.do("until got " + text(s.Messages-s.Overflowed))
	return p.account()
}

// kill kills a peer as kill -9 does.
func (p *peer) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait()
}

// got and lost are sums over all tags.
func (a account) got() (n uint64) {
	for _, r := range a.Tags {
		n += r.Got
	}
	return n
}

func (a account) lost() (n uint64) {
	for _, r := range a.Tags {
		n += r.Lost
	}
	return n
}

func sum(counts map[uint64]uint64) (n uint64) {
	for _, k := range counts {
		n += k
	}
	return n
}

// wantOrder: each message is whole, and comes behind the one before it.
func wantOrder(t *testing.T, sub account) {
	t.Helper()
	if sub.Wrong > 0 || sub.Disordered > 0 {
		t.Errorf("%d messages are not what was published, %d are out of order", sub.Wrong, sub.Disordered)
	}
}

// wantAll: each message of some tags came, or was said to be lost.
func wantAll(t *testing.T, published map[uint64]uint64, sub account, of ...uint64) {
	t.Helper()
	wantOrder(t, sub)
	for _, tag := range of {
		r := sub.Tags[tag]
		if r == nil {
			r = &received{}
		}
		if published[tag] == 0 || r.Got+r.Lost != published[tag] {
			t.Errorf("tag %#x: got %d and lost %d of %d: %+v", tag, r.Got, r.Lost, published[tag], r)
		}
	}
}

// wantEqual: a publisher and its only subscriber count the same, and the program has seen that.
func wantEqual(t *testing.T, pub, sub account) {
	t.Helper()
	var lane bus.LaneState
	for _, s := range append(pub.Publisher.Gone, pub.Publisher.Subscribers...) {
		for _, l := range s.Lanes {
			lane.Policy = l.Policy
			lane.Sent += l.Sent
			lane.Unconfirmed += l.Unconfirmed
		}
	}
	s := sub.Subscriber
	told := s.Overflowed
	if lane.Policy.Kind == bus.Latest { // what a newer message has replaced in the subscriber's own queue is no loss
		told = 0
	}
	for _, c := range []struct {
		what      string
		got, want uint64
	}{
		{"the program has got, its library delivered", sub.got(), s.Messages - s.Overflowed},
		{"gaps have told, the library has counted", sub.lost(), s.Lost + s.LeftOut + s.Overflowed},
		{"the publisher has sent, the subscriber received", lane.Sent, s.Messages + s.Unwanted},
		{"the publisher has lost, the subscriber counts", pub.Publisher.Losses.Lost(), s.Lost},
		{"the publisher has left out, the subscriber counts", pub.Publisher.Losses.LeftOut, s.LeftOut},
		{"the publisher knows of overflows, the subscriber counts", pub.Publisher.Dropped.Overflowed, told},
		{"unconfirmed", lane.Unconfirmed + pub.Publisher.Unconfirmed, 0},
		{"the publisher has accepted, the program published", pub.Publisher.Messages, sum(pub.Published)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d and %d\n%+v\n%+v", c.what, c.got, c.want, pub.Publisher, s)
		}
	}
}

func text(n uint64) string { return strconv.FormatUint(n, 10) }
