// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/tcp"
	"tagbus/node"
	"tagbus/tags"
)

func TestMain(m *testing.M) {
	if os.Getenv(readerBus) != "" {
		runReader()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestOpen_saysWhatIsWrong(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		cfg  node.Config
		is   error
		want string
	}{
		{"an unknown backend", node.Config{Bus: t.TempDir(), Backend: "udp"}, node.ErrUnknownBackend, `got "udp"`},
		{"a provider that there is not", node.Config{Bus: t.TempDir(), Backend: "rdma:pigeon"}, node.ErrUnknownBackend, `got "rdma:pigeon": netio: invalid configuration: Provider is "pigeon", want one of verbs, tcp, net`},
		{"an RDMA backend for one goroutine", node.Config{Bus: t.TempDir(), Backend: "rdma", RDMA: rdma.Config{Config: netio.Config{ThreadSafety: netio.Unsafe}}}, netio.ErrInvalidConfig, "ThreadSafety is unsafe"},
		{"tcp has no providers", node.Config{Bus: t.TempDir(), Backend: "tcp:x"}, node.ErrUnknownBackend, `got "tcp:x"`},
		{"a backend twice", node.Config{Bus: t.TempDir(), Backend: "tcp,tcp"}, bus.ErrInvalidConfig, `names "tcp" twice`},
		{"a device twice", node.Config{Bus: t.TempDir(), Backend: "rdma:verbs@a,rdma:verbs@a"}, bus.ErrInvalidConfig, `names "rdma:verbs@a" twice`},
		{"a device beside any", node.Config{Bus: t.TempDir(), Backend: "rdma:verbs@a,rdma:verbs"}, bus.ErrInvalidConfig, `names "rdma:verbs@a" and "rdma:verbs", of which one is any device`},
		{"devices apart", node.Config{Bus: t.TempDir(), Backend: "rdma:verbs@a,tcp,rdma:verbs@b"}, bus.ErrInvalidConfig, `names "rdma:verbs@a" and "rdma:verbs@b" with "tcp" between them`},
		{"a device without a name", node.Config{Bus: t.TempDir(), Backend: "rdma:verbs@"}, node.ErrUnknownBackend, `got "rdma:verbs@", want a device`},
		{"a device with a blank", node.Config{Bus: t.TempDir(), Backend: "rdma:verbs@a b"}, node.ErrUnknownBackend, `Device is "a b", want the name or the address of one`},
		{"tcp has no devices", node.Config{Bus: t.TempDir(), Backend: "tcp@eth0"}, node.ErrUnknownBackend, `got "tcp@eth0"`},
		{"a backend for one goroutine", node.Config{Bus: t.TempDir(), TCP: tcp.Config{Config: netio.Config{ThreadSafety: netio.Unsafe}}}, netio.ErrInvalidConfig, "ThreadSafety is unsafe"},
		{"shared send buffers", node.Config{Bus: t.TempDir(), TCP: tcp.Config{Config: netio.Config{SharedSend: netio.SharedBuffers{Buffers: 1}}}}, netio.ErrInvalidConfig, "SharedSend.Buffers is 1"},
		{"too many loops", node.Config{Bus: t.TempDir(), Loops: 65}, bus.ErrInvalidConfig, "Loops is 65, want 1 to 64"},
		{"several loops that share buffers", node.Config{Bus: t.TempDir(), Loops: 2, TCP: tcp.Config{Config: netio.Config{SharedSend: netio.SharedBuffers{Buffers: 1}}}}, netio.ErrInvalidConfig, "SharedSend.Buffers is 1"},
		{"a bus that is a file", node.Config{Bus: plain}, nil, plain},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, err := node.Open(test.cfg)
			if err == nil {
				t.Fatal("opened", n.Close())
			}
			if test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %v with %q", err, test.is, test.want)
			}
		})
	}
}

func TestNode_Close_closesEverything(t *testing.T) {
	n, err := node.Open(node.Config{Bus: t.TempDir(), Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := p.Publish(1, nil); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("publish: got %v, want ErrClosed", err)
	}
	if _, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)}); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("new publisher: got %v, want ErrClosed", err)
	}
}

// TestNode_messagesCostNoAllocation counts what the whole process allocates while
// messages go from Publish to where they are received, in each way.
func TestNode_messagesCostNoAllocation(t *testing.T) {
	if testkit.Race {
		t.Skip("allocations are not those of the product under the race detector")
	}
	type way = func(s *bus.Subscriber, set tags.Set, received func(n int)) (*bus.Subscription, error)
	ways := map[string]way{
		"handler": func(s *bus.Subscriber, set tags.Set, received func(n int)) (*bus.Subscription, error) {
			return s.Subscribe(set, func(bus.Message) { received(1) })
		},
		"batch": func(s *bus.Subscriber, set tags.Set, received func(n int)) (*bus.Subscription, error) {
			return s.SubscribeBatch(set, func(batch []bus.Message) { received(len(batch)) }, bus.SubscriptionConfig{})
		},
		"messages": func(s *bus.Subscriber, set tags.Set, received func(n int)) (*bus.Subscription, error) {
			sub, err := s.Subscribe(set, nil)
			if err != nil {
				return nil, err
			}
			go func() {
				for _, err := range sub.Messages(context.Background()) {
					if err != nil {
						return // the node is closed
					}
					received(1)
				}
			}()
			return sub, nil
		},
	}
	for name, receive := range ways {
		t.Run(name, func(t *testing.T) { testAllocations(t, receive) })
	}
}

func testAllocations(t *testing.T, receive func(*bus.Subscriber, tags.Set, func(n int)) (*bus.Subscription, error)) {
	t.Helper()
	dir := t.TempDir()
	p := openPublisher(t, dir, bus.PublisherConfig{Tags: tags.Of(1, 2)})
	s, err := openNode(t, dir).NewSubscriber(bus.SubscriberConfig{Dialing: bus.Dialing{Unlisted: true}})
	if err != nil {
		t.Fatal(err)
	}
	var received atomic.Int64
	arrived := make(chan struct{}, 1)
	const warmUp = 20_000
	total := int64(220_000)
	if testing.Short() {
		total = 60_000
	}
	if _, err := receive(s, tags.Of(1, 2), func(n int) {
		now := received.Add(int64(n))
		if before := now - int64(n); before < warmUp && now >= warmUp || now == total {
			arrived <- struct{}{}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2)); err != nil {
		t.Fatal(err)
	}
	publish := func(n int64) {
		for i := range n {
			if err := p.PublishContext(t.Context(), tags.Tag(1+i/8%2), make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		<-arrived
	}
	publish(warmUp)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := time.Now()
	publish(total - warmUp)
	took := time.Since(begun)
	runtime.ReadMemStats(&after)
	// The file directory's beat and the flush timer allocate now and then: on a slow machine, more often for as many messages.
	if n := int64(after.Mallocs - before.Mallocs); n > (total-warmUp)/100+int64(took/(5*time.Millisecond)) {
		t.Errorf("%d allocations for %d messages in %v, want none per message", n, total-warmUp, took)
	}
}

// TestNode_tcpCutsNoPeerOffForNotReading looks at the sockets: a subscriber that had
// paused for a minute was cut off by TCP_USER_TIMEOUT, though its policy was to be
// waited for.
func TestNode_tcpCutsNoPeerOffForNotReading(t *testing.T) {
	tests := []struct {
		name string
		set  time.Duration
		want int // milliseconds
	}{
		{"the default", 0, 0},
		{"as it was set", 70 * time.Second, 70_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, err := node.Open(node.Config{Bus: t.TempDir(), Backend: "tcp", TCP: tcp.Config{UserTimeout: test.set}})
			if err != nil {
				t.Fatal(err)
			}
			defer n.Close()
			p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1)})
			if err != nil {
				t.Fatal(err)
			}
			s, err := n.NewSubscriber(bus.SubscriberConfig{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
				t.Fatal(err)
			}
			if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
				t.Fatal(err)
			}
			got := userTimeouts(t)
			if len(got) != 2 || got[0] != test.want || got[1] != test.want {
				t.Errorf("got timeouts of %v ms at the two ends, want %d", got, test.want)
			}
		})
	}
}

// userTimeouts returns TCP_USER_TIMEOUT of the process's connections.
func userTimeouts(t *testing.T) (all []int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range fds {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unix.Getpeername(fd); err != nil {
			continue // no connection
		}
		if ms, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err == nil {
			all = append(all, ms)
		}
	}
	return all
}

// TestNode_Close_callbacksMayUseTheNodeMeanwhile is a deadlock that a lock around the
// closing of users would be.
func TestNode_Close_callbacksMayUseTheNodeMeanwhile(t *testing.T) {
	n, err := node.Open(node.Config{Bus: t.TempDir(), Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	inside := make(chan error, 2)
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}, Common: bus.Common{OnEvent: func(e bus.Event) {
		if e.Kind == bus.Subscribed {
			inside <- n.Close() // would wait for itself
		}
		if e.Kind == bus.Lost {
			_, err := n.NewSubscriber(bus.SubscriberConfig{})
			inside <- err
		}
	}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Subscribe(tags.Of(1), func(bus.Message) {}); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	if err := <-inside; !errors.Is(err, bus.ErrOnLoop) {
		t.Errorf("close inside a callback: got %v, want ErrOnLoop", err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	select {
	case err := <-inside:
		if !errors.Is(err, bus.ErrClosed) {
			t.Errorf("new subscriber while closing: got %v, want ErrClosed", err)
		}
	default: // the publisher was closed before it heard that the subscriber has gone
	}
}

func TestNode_doesNotKeepClosedUsers(t *testing.T) {
	n := openNode(t, t.TempDir())
	const users = 50
	var gone atomic.Int64
	for i := range users {
		s, err := n.NewSubscriber(bus.SubscriberConfig{})
		if err != nil {
			t.Fatal(err)
		}
		runtime.AddCleanup(s, func(int) { gone.Add(1) }, 0)
		closed := make(chan error, 1)
		if i%2 == 0 {
			closed <- s.Close()
		} else {
			n.Loop().Post(func() { closed <- s.Close() })
		}
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		runtime.GC()
		if gone.Load() > users*3/4 { // the last ones may still be in a queue's memory
			return
		}
	}
	t.Errorf("%d of %d closed subscribers are still reachable", users-gone.Load(), users)
}
