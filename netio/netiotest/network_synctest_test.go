package netiotest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio"
	"tagbus/netio/netiotest"
)

var (
	hostA   = netip.MustParseAddr("10.0.0.1")
	hostB   = netip.MustParseAddr("10.0.0.2")
	onA     = netip.AddrPortFrom(hostA, 0) // as a pattern: any port of A
	onB     = netip.AddrPortFrom(hostB, 0)
	addrA   = netip.AddrPortFrom(hostA, 1000)
	anybody netip.AddrPort
)

// world is a network with a server on host A and a client on host B.
type world struct {
	*testing.T
	net            *netiotest.Network
	loop           *netiotest.Loop
	server, client *user
	sb, cb         netio.Backend
}

// inWorld runs f in a bubble. The server listens on addrA; nothing is
// connected yet.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	inBubble(t, func(t *testing.T, l *netiotest.Loop) {
		w := &world{T: t, net: netiotest.NewNetwork(), loop: l, server: &user{}, client: &user{}}
		w.sb = w.open(hostA, w.server)
		w.cb = w.open(hostB, w.client)
		w.listen(w.sb)
		f(w)
	})
}

func (w *world) open(host netip.Addr, h netio.Handler) netio.Backend {
	w.Helper()
	return openBackend(w, w.net.Opener(w.loop, netiotest.Config{Host: host}), h)
}

func (w *world) listen(b netio.Backend) {
	w.Helper()
	if _, err := b.OpenListenEndpoint(addrA, netio.Params{}); err != nil {
		w.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
}

func (w *world) dial() {
	w.Helper()
	if err := w.cb.OpenEndpoint(addrA, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 4}}); err != nil {
		w.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	synctest.Wait()
}

// sleep lets d pass. The post orders what the test has read before what the
// loop will write, for the race detector.
func (w *world) sleep(d time.Duration) {
	w.loop.Post(func() {})
	sleep(d)
}

// connect connects the client and the server.
func (w *world) connect() {
	w.Helper()
	w.dial()
	if w.client.ep == nil || w.server.ep == nil {
		w.Fatalf("OpenEndpoint: got a connection %v at the client and %v at the server, want both", w.client.ep, w.server.ep)
	}
}

// say sends one message from the client, which must be accepted.
func (w *world) say(text string) {
	w.Helper()
	if err := w.client.send(2, 1, text); err != nil {
		w.Fatalf("send %q: got error %v, want none", text, err)
	}
	synctest.Wait()
}

// heard checks what the server has received in all.
func (w *world) heard(when string, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, w.server.received); diff != "" {
		w.Errorf("messages received %s (-want +got):\n%s", when, diff)
	}
}

func TestStallFillsTheWindowThenTheQueue(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(onB, onA, 25)
		w.connect()
		w.net.Stall(onB, onA)
		for i := range 6 { // of 10 bytes: two and a half fit, four more are outstanding
			w.say(fmt.Sprintf("message %2d", i))
		}
		if got := len(w.client.reported); got != 2 {
			w.Errorf("completions with a window of 25 bytes full: got %d, want 2", got)
		}
		if err := w.client.send(2, 9, "too many"); !errors.Is(err, netio.ErrNoResources) {
			w.Errorf("send with 4 sends outstanding: got error %v, want %v", err, netio.ErrNoResources)
		}
		w.sleep(time.Hour)
		w.heard("while stalled")
		if w.client.ready != 0 || len(w.client.causes) != 0 {
			w.Errorf("while stalled: got %d OnSendReady and closes %v, want none", w.client.ready, w.client.causes)
		}
		w.net.Resume(onB, onA)
		synctest.Wait()
		w.heard("after Resume", "message  0", "message  1", "message  2", "message  3", "message  4", "message  5")
		if w.client.ready != 1 || len(w.client.reported) != 6 {
			w.Errorf("after Resume: got %d OnSendReady and %d completions, want 1 and 6", w.client.ready, len(w.client.reported))
		}
	})
}

func TestStallIsOfOneDirection(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Stall(onA, onB)
		w.say("there")
		w.heard("with the other direction stalled", "there")
		if err := w.server.send(2, 1, "back"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		if len(w.client.received) != 0 {
			w.Errorf("messages received over a stalled direction: got %q, want none", w.client.received)
		}
	})
}

func TestStallHoldsTheEndBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Stall(anybody, anybody)
		w.say("last words")
		if err := w.client.ep.Close(); err != nil {
			w.Fatalf("Close: got error %v, want none", err)
		}
		w.sleep(time.Hour)
		if len(w.server.causes) != 0 {
			w.Errorf("the end of a stalled connection: got causes %v, want none yet", w.server.causes)
		}
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("after Resume", "last words")
		if len(w.server.causes) != 1 || !errors.Is(w.server.causes[0], io.EOF) {
			w.Errorf("causes after Resume: got %v, want %v", w.server.causes, io.EOF)
		}
	})
}

func TestPartitionLosesNothingAndFailsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Partition(onA, onB)
		w.say("across")
		if w.net.Reset(addrA, onB) != 1 {
			w.Errorf("Reset: got no connection, want 1")
		}
		w.sleep(time.Hour)
		w.heard("while cut off")
		if len(w.client.causes)+len(w.server.causes) != 0 {
			w.Errorf("causes while cut off: got %v and %v, want none", w.client.causes, w.server.causes)
		}
		w.net.Heal(onA, onB)
		synctest.Wait()
		for _, u := range []*user{w.client, w.server} {
			if len(u.causes) != 1 || !errors.Is(u.causes[0], syscall.ECONNRESET) {
				w.Errorf("causes after Heal of a connection that was reset: got %v, want %v", u.causes, syscall.ECONNRESET)
			}
		}
	})
}

func TestPartitionHealedDelivers(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Partition(onA, onB)
		w.say("across")
		w.sleep(time.Hour)
		w.net.Heal(onA, onB)
		synctest.Wait()
		w.heard("after Heal", "across")
	})
}

func TestConnectingAcrossAPartitionTimesOut(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.Partition(onA, onB)
		start := time.Now()
		var took time.Duration
		w.net.Observe(func(e netiotest.Event) {
			if e.Kind == netiotest.Refused && errors.Is(e.Err, netio.ErrTimeout) {
				took = time.Since(start)
			}
		})
		w.dial()
		if w.client.refused != 0 {
			w.Errorf("refused at once: got %d, want 0", w.client.refused)
		}
		w.sleep(time.Hour)
		if w.client.refused != 1 || took != netio.DefaultConnectTimeout {
			w.Errorf("refused: got %d after %v, want 1 after %v", w.client.refused, took, netio.DefaultConnectTimeout)
		}
	})
}

func TestConnectingWaitsForAPartitionToHeal(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.Partition(onA, onB)
		w.dial()
		w.sleep(time.Second)
		w.net.Heal(onA, onB)
		synctest.Wait()
		if w.client.ep == nil || w.client.refused != 0 {
			w.Errorf("after Heal: got a connection %v and %d refused, want one and 0", w.client.ep, w.client.refused)
		}
	})
}

func TestDelayIsExact(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetDelay(onB, onA, 3*time.Second)
		w.net.SetDelay(onA, onB, time.Second)
		start := time.Now()
		var got []string
		w.net.Observe(func(e netiotest.Event) {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Local.Addr(), " ", time.Since(start)))
		})
		w.dial()
		w.sleep(4 * time.Second)
		w.say("slow")
		w.sleep(time.Second)
		w.net.SetDelay(onB, onA, 0) // what follows does not overtake
		w.say("fast")
		w.sleep(time.Minute)
		w.heard("in the end", "slow", "fast")
		want := []string{
			"established 10.0.0.1 4s", "established 10.0.0.2 4s",
			"completed 10.0.0.2 4s", "completed 10.0.0.2 5s",
			"delivered 10.0.0.1 7s", "delivered 10.0.0.1 7s",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestDelayLongerThanTheTimeoutRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetDelay(anybody, anybody, time.Minute)
		w.dial()
		w.sleep(netio.DefaultConnectTimeout)
		if w.client.refused != 1 || w.client.ep != nil {
			w.Errorf("got %d refused and a connection %v, want 1 and none", w.client.refused, w.client.ep)
		}
	})
}

func TestRefuseAndAdmit(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.Refuse(addrA)
		w.dial()
		if w.client.refused != 1 {
			w.Errorf("refused: got %d, want 1", w.client.refused)
		}
		w.net.Admit(addrA)
		w.connect()
		w.net.Refuse(onA)
		w.say("established ones live on")
		w.heard("after Refuse", "established ones live on")
	})
}

func TestResetLosesWhatIsUnderWay(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(anybody, anybody, 10)
		w.connect()
		w.say("arrives")
		w.net.Stall(anybody, anybody)
		w.say("in window!") // fills it
		w.say("in the queue")
		if got := w.net.Reset(onA, onB); got != 1 {
			w.Errorf("Reset: got %d connections, want 1", got)
		}
		if got := w.net.Reset(onA, onB); got != 0 {
			w.Errorf("second Reset: got %d connections, want 0", got)
		}
		synctest.Wait()
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("after Reset", "arrives")
		for _, u := range []*user{w.client, w.server} {
			if len(u.causes) != 1 || !errors.Is(u.causes[0], syscall.ECONNRESET) {
				w.Errorf("causes: got %v, want %v", u.causes, syscall.ECONNRESET)
			}
			if !slices.Equal(u.accepted, u.reported) {
				w.Errorf("keys reported: got %v, want %v", u.reported, u.accepted)
			}
		}
	})
}

func TestKillIsSilentThereAndAResetHere(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.net.Stall(onB, onA)
		w.say("lost")
		if got := w.net.Kill(hostA); got != 1 {
			w.Errorf("Kill: got %d backends, want 1", got)
		}
		synctest.Wait()
		if len(w.client.causes) != 1 || !errors.Is(w.client.causes[0], syscall.ECONNRESET) {
			w.Errorf("causes at the peer: got %v, want %v", w.client.causes, syscall.ECONNRESET)
		}
		if err := w.server.ep.Send(7, nil, []byte("nobody hears")); err != nil {
			w.Errorf("Send of a killed backend: got error %v, want none: it does not know", err)
		}
		w.dial()
		if w.client.refused != 1 {
			w.Errorf("connecting to a killed backend: got %d refused, want 1", w.client.refused)
		}
		w.net.Resume(onB, onA)
		w.sleep(time.Hour)
		if len(w.server.causes)+len(w.server.received)+len(w.server.reported) != 0 {
			w.Errorf("callbacks of a killed backend: got %v, %q, %v, want none", w.server.causes, w.server.received, w.server.reported)
		}
		if got := w.net.Kill(hostA); got != 0 {
			w.Errorf("second Kill: got %d backends, want 0", got)
		}
		// Its successor has the address, and Close still keeps the books.
		successor := &user{}
		w.listen(w.open(hostA, successor))
		w.dial()
		if successor.ep == nil || w.client.ep == nil {
			w.Errorf("connecting to the successor: got %v and %v, want a connection", successor.ep, w.client.ep)
		}
		if err := w.sb.Close(); err != nil {
			w.Errorf("Close of a killed backend: got error %v, want none", err)
		}
		if len(w.server.causes) != 1 || w.server.causes[0] != nil || !slices.Equal(w.server.reported, []netio.Key{7}) {
			w.Errorf("Close of a killed backend: got causes %v and keys %v, want one nil and key 7", w.server.causes, w.server.reported)
		}
	})
}

func TestChangedMemoryIsSeen(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(anybody, anybody, 4)
		w.connect()
		w.net.Stall(anybody, anybody)
		mem := []byte("good bytes")
		if err := w.client.ep.Send(3, nil, mem); err != nil {
			w.Fatalf("Send: got error %v, want none", err)
		}
		synctest.Wait()
		copy(mem, "BAD")
		copy(mem[5:], "BAD")
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("of memory changed half-way", "good BADes")
		if got := w.net.Violations(); len(got) != 1 {
			w.Errorf("Violations: got %q, want 1", got)
		}
	})
}

// keeper keeps the data of OnData, which it must not.
type keeper struct {
	user
	kept []byte
}

func (k *keeper) OnData(_ netio.Endpoint, data []byte) { k.kept = data }

func TestKeptDataIsOverwritten(t *testing.T) {
	inWorld(t, func(w *world) {
		k := &keeper{}
		w.cb = w.open(hostB, k)
		w.dial()
		if err := w.server.send(2, 1, "for a moment"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		if want := bytes.Repeat([]byte{0xDB}, 12); !bytes.Equal(k.kept, want) {
			w.Errorf("data after OnData: got %q, want %q", k.kept, want)
		}
	})
}

func TestCloseInTheMiddleOfAMessageTruncates(t *testing.T) {
	inWorld(t, func(w *world) {
		w.net.SetWindow(anybody, anybody, 4)
		w.connect()
		w.net.Stall(anybody, anybody)
		w.say("too long for the window")
		if err := w.client.ep.Close(); err != nil {
			w.Fatalf("Close: got error %v, want none", err)
		}
		synctest.Wait()
		w.net.Resume(anybody, anybody)
		synctest.Wait()
		w.heard("of a message that was cut")
		if len(w.server.causes) != 1 || !errors.Is(w.server.causes[0], netio.ErrTruncated) {
			w.Errorf("causes: got %v, want %v", w.server.causes, netio.ErrTruncated)
		}
		if got := w.sb.Stats().Truncated; got != 1 {
			w.Errorf("Stats.Truncated: got %d, want 1", got)
		}
	})
}

func TestPausedEndWithUnreadDataLearnsOfTheEndBySending(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.server.ep.PauseReceive()
		w.say("unread")
		if err := w.client.ep.Close(); err != nil {
			w.Fatalf("Close: got error %v, want none", err)
		}
		w.sleep(time.Hour)
		if len(w.server.causes) != 0 {
			w.Errorf("causes at a paused end with unread data: got %v, want none", w.server.causes)
		}
		if err := w.server.send(2, 1, "are you there?"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		if len(w.server.causes) != 1 || !errors.Is(w.server.causes[0], syscall.ECONNRESET) {
			w.Errorf("causes after sending to a peer that is gone: got %v, want %v", w.server.causes, syscall.ECONNRESET)
		}
	})
}

func TestTrafficCountsByPattern(t *testing.T) {
	inWorld(t, func(w *world) {
		w.connect()
		w.say("12345")
		w.say("123")
		if err := w.server.send(2, 1, "12"); err != nil {
			w.Fatalf("send: got error %v, want none", err)
		}
		synctest.Wait()
		for _, tt := range []struct {
			from, to netip.AddrPort
			want     netiotest.Traffic
		}{
			{onB, onA, netiotest.Traffic{Messages: 2, Bytes: 8}},
			{addrA, onB, netiotest.Traffic{Messages: 1, Bytes: 2}},
			{anybody, anybody, netiotest.Traffic{Messages: 3, Bytes: 10}},
			{onA, addrA, netiotest.Traffic{}},
		} {
			if got := w.net.Traffic(tt.from, tt.to); got != tt.want {
				w.Errorf("Traffic(%v, %v): got %+v, want %+v", tt.from, tt.to, got, tt.want)
			}
		}
	})
}

func TestHostBindsTheBackend(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := w.cb.OpenListenEndpoint(netip.AddrPortFrom(hostA, 0), netio.Params{})
		if !errors.Is(err, syscall.EADDRNOTAVAIL) {
			w.Errorf("OpenListenEndpoint on another host: got error %v, want %v", err, syscall.EADDRNOTAVAIL)
		}
		l, err := w.cb.OpenListenEndpoint(netip.MustParseAddrPort("0.0.0.0:0"), netio.Params{})
		if err != nil || l.Addr().Addr() != hostB || l.Addr().Port() == 0 {
			w.Errorf("OpenListenEndpoint on no host in particular: got %v and error %v, want a port of %v", l, err, hostB)
		}
		w.connect()
		if got := w.client.ep.Local().Addr(); got != hostB {
			w.Errorf("Local: got %v, want %v", got, hostB)
		}
	})
}

// TestOneLoopIsDeterministic runs something busy twice and compares all events.
func TestOneLoopIsDeterministic(t *testing.T) {
	run := func() (events []string) {
		inWorld(t, func(w *world) {
			start := time.Now()
			w.net.Observe(func(e netiotest.Event) {
				events = append(events, fmt.Sprint(time.Since(start), e.Kind, e.Local, e.Remote, string(e.Data), e.Err))
			})
			w.net.SetWindow(anybody, anybody, 7)
			w.net.SetDelay(onB, onA, time.Millisecond)
			w.net.SetDelay(onA, onB, time.Millisecond)
			w.dial()
			w.sleep(time.Second)
			for i := range 20 {
				for _, u := range []*user{w.client, w.server} {
					if err := u.send(2, netio.Key(i), fmt.Sprint("message ", i)); err != nil && !errors.Is(err, netio.ErrNoResources) {
						w.Errorf("send: got error %v, want none or %v", err, netio.ErrNoResources)
					}
				}
				w.sleep(time.Duration(i) * time.Millisecond)
			}
		})
		return events
	}
	first := run()
	if len(first) < 50 {
		t.Fatalf("events: got %d, want a busy run", len(first))
	}
	for range 5 {
		if diff := cmp.Diff(first, run()); diff != "" {
			t.Fatalf("events of two runs (-first +second):\n%s", diff)
		}
	}
}
