// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// user is a careful user of a backend: it keeps books of what it sent and was
// told, and tries again what failed.
type user struct {
	netio.NopHandler
	ep       netio.Endpoint // nil when not connected
	accepted []netio.Key    // of all connections
	reported []netio.Key
	received []string
	refused  int
	denied   int // ErrNoResources
	ready    int
	causes   []error
}

func (u *user) OnConnectionEstablished(ep netio.Endpoint) { u.ep = ep }
func (u *user) OnConnectionRefused(netip.AddrPort, error) { u.refused++ }
func (u *user) OnData(_ netio.Endpoint, data []byte)      { u.received = append(u.received, string(data)) }
func (u *user) OnSendCompleted(c netio.Completion)        { u.reported = append(u.reported, c.Key) }
func (u *user) OnSendReady(netio.Endpoint)                { u.ready++ }
func (u *user) OnConnectionClosed(_ netio.Endpoint, keys []netio.Key, cause error) {
	u.ep = nil
	u.reported = append(u.reported, keys...)
	u.causes = append(u.causes, cause)
}

// send sends text in one way; it returns what the backend said.
func (u *user) send(way int, key netio.Key, text string) error {
	switch way {
	case 0:
		b, err := u.ep.Buffer()
		if err != nil {
			return err
		}
		key = b.Key()
		if _, err = b.Write([]byte(text)); err == nil {
			err = u.ep.SendBuffer(b)
		}
		if err != nil {
			b.Release()
			return err
		}
	case 1:
		if err := u.ep.Send(key, nil, []byte(text)); err != nil {
			return err
		}
	case 2:
		if err := u.ep.SendCopy(key, nil, []byte(text)); err != nil {
			return err
		}
	default:
		if done, err := u.ep.SendDirect(key, nil, []byte(text)); done || err != nil {
			return err
		}
	}
	u.accepted = append(u.accepted, key)
	return nil
}

// transfer sends ten messages through a backend with a fault and checks that
// they arrive all the same.
func transfer(t *testing.T, f *memnet.Fault) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		n := memnet.New()
		server, client := &user{}, &user{}
		params := netio.Params{Buffered: netio.BufferedParams{Buffers: 2}}
		addr := netip.MustParseAddrPort("10.0.0.1:1000")
		sb := openBackend(t, n.Opener(l, memnet.Config{}), server)
		cb, err := memnet.FailNth(n.Opener(l, memnet.Config{}), f)(client)
		if err != nil {
			t.Fatalf("open: got error %v, want none", err)
		}
		if _, err := sb.OpenListenEndpoint(addr, params); err != nil {
			t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
		}
		if _, err := cb.OpenListenEndpoint(netip.MustParseAddrPort("10.0.0.2:1000"), params); err != nil {
			checkInjected(t, f, "OpenListenEndpoint", err, syscall.EMFILE)
		}
		connect := func() {
			if err := cb.OpenEndpoint(addr, params); err != nil {
				checkInjected(t, f, "OpenEndpoint", err, nil)
			} else if synctest.Wait(); client.ep == nil && client.refused != 1 {
				t.Fatalf("OpenEndpoint: got neither established nor refused, want one")
			}
			if client.ep == nil {
				if err := cb.OpenEndpoint(addr, params); err != nil {
					t.Fatalf("OpenEndpoint again: got error %v, want none", err)
				}
			}
			synctest.Wait()
		}
		connect()
		var want []string
		for i := range 10 {
			text := fmt.Sprint("message ", i)
			want = append(want, text)
			for err := client.send(i%4, netio.Key(i), text); err != nil; err = client.send(i%4, netio.Key(i), text) {
				checkInjected(t, f, f.Call(), err, netio.ErrNoResources)
				if errors.Is(err, netio.ErrNoResources) {
					client.denied++
				}
				synctest.Wait()
				if client.ep == nil {
					connect()
				}
			}
			synctest.Wait()
		}
		if err := cb.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
		synctest.Wait()
		if diff := cmp.Diff(want, server.received); diff != "" {
			t.Errorf("messages received (-want +got):\n%s", diff)
		}
		if !slices.Equal(client.accepted, client.reported) {
			t.Errorf("keys reported: got %v, want %v", client.reported, client.accepted)
		}
		if client.ready != client.denied {
			t.Errorf("OnSendReady: got %d calls, want one for each of %d ErrNoResources", client.ready, client.denied)
		}
		checkCauses(t, f, client)
	})
}

// checkInjected fails the test unless err is what the fault gives to a call.
func checkInjected(t *testing.T, f *memnet.Fault, call string, err, transient error) {
	t.Helper()
	want := f.Err
	if want == nil {
		want = transient
	}
	if f.Call() != call || !errors.Is(err, want) {
		t.Fatalf("%s: got error %v with a fault in %q, want %v", call, err, f.Call(), want)
	}
}

func checkCauses(t *testing.T, f *memnet.Fault, u *user) {
	t.Helper()
	broke := errors.Is(f.Err, netio.ErrClosed) && slices.Contains([]string{"Buffer", "SendBuffer", "Send", "SendCopy", "SendDirect"}, f.Call())
	want := 1
	if broke {
		want = 2
		if !errors.Is(u.causes[0], syscall.ECONNRESET) {
			t.Errorf("cause after a broken connection: got %v, want %v", u.causes[0], syscall.ECONNRESET)
		}
	}
	if len(u.causes) != want || u.causes[want-1] != nil {
		t.Errorf("causes: got %v, want %d, the last of them nil", u.causes, want)
	}
}

func TestFailNthFailsEveryCallInTurn(t *testing.T) {
	hard := errors.New("something broke")
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"something has run out for a moment", nil},
		{"the connection breaks", netio.ErrClosed},
		{"the call fails for good", hard},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var failed []string
			for n := int64(1); ; n++ {
				f := &memnet.Fault{N: n, Err: tt.err}
				transfer(t, f)
				if t.Failed() {
					t.Fatalf("that was with the fault in call %d, %s", n, f.Call())
				}
				if !f.Fired() {
					if f.Calls() != n-1 {
						t.Errorf("calls of a run without a fault: got %d, want %d", f.Calls(), n-1)
					}
					break
				}
				failed = append(failed, f.Call())
			}
			want := []string{"OpenListenEndpoint", "OpenEndpoint"}
			for i := range 10 {
				want = append(want, [][]string{{"Buffer", "SendBuffer"}, {"Send"}, {"SendCopy"}, {"SendDirect"}}[i%4]...)
			}
			if diff := cmp.Diff(want, failed); diff != "" {
				t.Errorf("calls that failed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailNthWithoutAFaultKeepsTheContract(t *testing.T) {
	l := memnet.NewLoop()
	defer l.Close()
	n := memnet.New()
	s := memorySuite(n, memnet.Config{}, l)
	f := &memnet.Fault{}
	s.Open = func(t netiotest.TB, cfg netio.Config, h netio.Handler) netio.Backend {
		t.Helper()
		return openBackend(t, memnet.FailNth(n.Opener(l, memnet.Config{Config: cfg}), f), h)
	}
	netiotest.Run(t, s)
	if f.Fired() || f.Calls() == 0 {
		t.Errorf("a fault with N 0: got fired %v after %d calls, want false after some", f.Fired(), f.Calls())
	}
}
