// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// wire is a way to a member that can be cut.
type wire struct {
	t      *testing.T
	to     string
	at     string
	mutex  sync.Mutex
	listen net.Listener // nil: cut
	pairs  []net.Conn
	copies sync.WaitGroup
}

// newWire returns one that is whole.
func newWire(t *testing.T, to string) *wire {
	t.Helper()
	w := &wire{t: t, to: to, at: "127.0.0.1:" + freePorts(t)} // no other program gets it while the wire is cut
	w.mend()
	t.Cleanup(w.cut)
	return w
}

// mend makes the wire whole, at the same address.
func (w *wire) mend() {
	w.t.Helper()
	l, err := net.Listen("tcp", w.at)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.listen, w.at = l, l.Addr().String()
	w.copies.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.carry(l, c)
		}
	})
}

// carry carries what is sent on a connection, both ways.
func (w *wire) carry(from net.Listener, c net.Conn) {
	other, err := net.Dial("tcp", w.to)
	if err != nil {
		_ = c.Close()
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.listen != from { // cut meanwhile
		_, _ = c.Close(), other.Close()
		return
	}
	w.pairs = append(w.pairs, c, other)
	for _, way := range [][2]net.Conn{{c, other}, {other, c}} {
		w.copies.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			_, _ = way[0].Close(), way[1].Close()
		})
	}
}

// cut ends all connections, and lets none begin.
func (w *wire) cut() {
	w.mutex.Lock()
	if w.listen != nil {
		_ = w.listen.Close()
	}
	w.listen = nil
	for _, c := range w.pairs {
		_ = c.Close()
	}
	w.pairs = nil
	w.mutex.Unlock()
	w.copies.Wait()
}

// While a client has no way to the directory, entries come, change and go, and the history
// of it is compacted away. It learns what it has missed, and not what did not happen.
func TestCompactionDuringAnOutage(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1)
	s := newScene(t, site.url(), 2)
	w := newWire(t, site.servers[0].at)
	away := newClient(t, "away", "etcd://"+w.at+"/test")
	for _, c := range s.living {
		away.await(0, "appeared "+c.name+".")
	}
	s.living[0].announce("short")
	away.await(0, "appeared short.")

	w.cut()
	away.await(0, "problem")
	for range 20 {
		if got := s.living[0].order("large living-0 3"); got != "<nil>" {
			t.Fatalf("update: got %s, want nil", got)
		}
	}
	if got := s.living[0].order("withdraw short"); got != "<nil>" {
		t.Fatalf("withdraw: got %s, want nil", got)
	}
	s.living[1].announce("new")
	s.dies()
	s.buried(time.Time{})
	t.Log(site.admin("compact", "--at", site.servers[0].at))
	w.mend()

	mended := time.Now()
	away.await(0, "appeared new.")
	for _, gone := range []string{"short", "mortal"} {
		if took := away.await(0, "gone "+gone+".").at.Sub(mended); took > goneWithin {
			t.Errorf("%s: knows after %v that %s is gone, want at most %v", away.name, took, gone, goneWithin)
		}
	}
	away.await(0, "changed living-0.")
	s.join(away)
	s.goesOn()
	s.end()
}

// All members are lost with their folders. New ones at the same addresses are another
// directory, and get all entries from those that have announced them.
func TestAllDataIsLost(t *testing.T) {
	t.Parallel()
	all(t)
	site := newSite(t, 3)
	s := newScene(t, site.url(), 3)
	for _, m := range site.servers {
		m.kill()
	}
	s.dies()
	for _, m := range site.servers {
		if err := os.RemoveAll(m.data); err != nil {
			t.Fatal(err)
		}
	}
	s.outlast(2)
	for _, m := range site.servers {
		m.start()
	}
	works := time.Now()
	s.goesOn()
	s.buried(works)
	s.outlast(2)
	s.allLive()
	s.end()
}

// One member is lost with its folder. It is removed, and another one takes its place.
func TestAMemberIsReplaced(t *testing.T) {
	t.Parallel()
	all(t)
	site := newSite(t, 3)
	s := newScene(t, site.url(), 3)
	lost := site.servers[2]
	lost.kill()
	if err := os.RemoveAll(lost.data); err != nil {
		t.Fatal(err)
	}
	t.Log(site.admin("status", "--at", site.servers[0].at))
	t.Log(site.admin("remove", lost.name, "--at", site.servers[0].at))
	lost.start()
	t.Log(site.admin("status", "--at", site.servers[0].at))
	s.dies()
	s.goesOn()
	s.buried(time.Time{})
	s.end()
}
