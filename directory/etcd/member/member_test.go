// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"tagbus/directory/etcd/member"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// soon returns a context of that length.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// nextPorts counts the pairs of ports that were looked at, from anywhere on: none is handed out
// again soon, since tests in parallel would take it for free until a member listens.
var nextPorts atomic.Int64

func init() { nextPorts.Store(rand.Int64N(2_500)) }

// freeAddress returns an address of this host whose port is free, as the next one is.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := 14_000 + 2*int(nextPorts.Add(1)%2_500)
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

// logs keeps what a member says.
type logs struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

// Write takes a line.
func (l *logs) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(line)
}

// String returns all of them.
func (l *logs) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// logger returns one that writes to l.
func (l *logs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// start starts a member that works, and closes it at the end of the test.
func start(t *testing.T, config member.Config) *member.Member {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := member.Start(soon(t), config)
	if err != nil {
		t.Fatalf("Start: got %v, want nil", err)
	}
	t.Cleanup(func() { closed(t, m) })
	if err := m.Wait(soon(t)); err != nil {
		t.Fatalf("Wait: got %v, want nil", err)
	}
	return m
}

// closed closes a member.
func closed(t *testing.T, m *member.Member) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Errorf("Close: got %v, want nil", err)
	}
}

// refused fails the test unless a member does not start, for a reason that is found with
// errors.Is and says some words.
func refused(t *testing.T, config member.Config, is error, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // some refusals are for want of an answer until then
	defer cancel()
	refusedBefore(ctx, t, config, is, words...)
}

// refusedBefore is refused where the reason must come before ctx ends.
func refusedBefore(ctx context.Context, t *testing.T, config member.Config, is error, words ...string) {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	m, err := member.Start(ctx, config)
	if err == nil {
		closed(t, m)
		t.Fatalf("Start: got nil, want %v", is)
	}
	if setting := (*member.SettingError)(nil); !errors.Is(err, is) || !errors.As(err, &setting) {
		t.Errorf("Start: got %v, want a *SettingError that is %v", err, is)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Start: got %q, want %q in it", err, word)
		}
	}
}

// The life of a member alone: it starts with an address and a folder, and again with the
// folder only, as what it was.
func TestAMemberAlone(t *testing.T) {
	t.Parallel()
	data, at := filepath.Join(t.TempDir(), "new", "data"), freeAddress(t)
	said := new(logs)
	m := start(t, member.Config{Data: data, Listen: at, Name: "first", Logger: said.logger()})
	if got, want := m.URL("bus"), "etcd://"+at+"/bus"; got != want {
		t.Errorf("URL: got %s, want %s", got, want)
	}
	if m.Clients() != at || m.Name() != "first" {
		t.Errorf("got %s at %s, want first at %s", m.Name(), m.Clients(), at)
	}
	refused(t, member.Config{Data: data, Listen: freeAddress(t)}, member.ErrInUse, data)
	closed(t, m)
	closed(t, m)
	if err := m.Wait(soon(t)); !errors.Is(err, member.ErrClosed) {
		t.Errorf("Wait after Close: got %v, want %v", err, member.ErrClosed)
	}
	refused(t, member.Config{Data: data, Name: "second"}, member.ErrForeign, "that of first")
	again := start(t, member.Config{Data: data})
	if again.Name() != "first" || again.Clients() != at {
		t.Errorf("again: got %s at %s, want first at %s", again.Name(), again.Clients(), at)
	}
	if !strings.Contains(said.String(), "a member leads") {
		t.Errorf("got %q, want that a member leads", said)
	}
}

// A member that had the host to itself moves to another address, and keeps what it has.
func TestAMemberMoves(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	m := start(t, member.Config{Data: data, Listen: freeAddress(t), Name: "m"})
	closed(t, m)
	at := freeAddress(t)
	again := start(t, member.Config{Data: data, Listen: at})
	if again.Clients() != at {
		t.Errorf("got %s, want %s", again.Clients(), at)
	}
	other := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "other", Join: []string{at}})
	if got := other.URL("x"); !strings.Contains(got, at) {
		t.Errorf("URL: got %s, want %s in it", got, at)
	}
}

// Three members, of which one is removed, and one is killed so that the others may not
// take a further one.
func TestThreeMembers(t *testing.T) {
	t.Parallel()
	first := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a"})
	join := []string{"127.0.0.1:1", first.Clients()} // one that does not answer first
	bAt, cData := freeAddress(t), t.TempDir()
	b := start(t, member.Config{Data: t.TempDir(), Listen: bAt, Name: "b", Join: join})
	c := start(t, member.Config{Data: cData, Listen: freeAddress(t), Name: "c", Join: join})
	refusedBefore(soon(t), t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a", Join: join}, member.ErrTaken, "tagbus-directory remove a")

	client, err := member.Dial(join[1:], member.TLS{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.MemberList(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Members {
		if m.Name != "c" {
			continue
		}
		ctx := soon(t)
		_, err := client.MemberRemove(ctx, m.ID)
		for errors.Is(err, rpctypes.ErrUnhealthy) && ctx.Err() == nil { // for 5 s after they have found each other
			_, err = client.MemberRemove(ctx, m.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-c.Failed():
		if !errors.Is(err, member.ErrRemoved) {
			t.Errorf("Failed: got %v, want %v", err, member.ErrRemoved)
		}
	case <-time.After(patience):
		t.Fatal("got nothing from Failed, want an error")
	}
	closed(t, c)
	closed(t, b)
	refused(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "d", Join: join[1:]}, member.ErrNoQuorum, "Join")
	again, err := member.Start(soon(t), member.Config{Data: cData, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("Start of a removed member: got %v, want nil", err)
	}
	closed(t, again) // it may never learn that it was removed
}

// A member whose fellows are away says so, and ends in order.
func TestTooFewMembersAreUp(t *testing.T) {
	t.Parallel()
	first := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a"})
	data := t.TempDir()
	second := start(t, member.Config{Data: data, Listen: freeAddress(t), Name: "b", Join: []string{first.Clients()}})
	closed(t, first)
	closed(t, second)
	again, err := member.Start(soon(t), member.Config{Data: data, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatalf("Start: got %v, want nil", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err = again.Wait(ctx)
	if !errors.Is(err, member.ErrNoQuorum) || !strings.Contains(err.Error(), "a at "+first.Peers()) {
		t.Errorf("Wait: got %v, want %v, and a at %s", err, member.ErrNoQuorum, first.Peers())
	}
	closed(t, again)
}

func TestNoMemberToJoin(t *testing.T) {
	refused(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Join: []string{freeAddress(t)}}, member.ErrNoAnswer, "check that the member runs")
}

// A folder of one directory does not join another one.
func TestAFolderOfAnotherDirectory(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	closed(t, start(t, member.Config{Data: data, Listen: freeAddress(t), Name: "a"}))
	other := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "b"})
	refusedBefore(soon(t), t, member.Config{Data: data, Join: []string{other.Clients()}}, member.ErrForeign, "clear the folder to join the other directory")
}
