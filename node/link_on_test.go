// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// cuttable names, to a process of a test, the address of a device whose link it may
// cut, and the network interface below it: ADDRESS,INTERFACE.
const cuttable = "NETIO_RDMA_CUT"

// softDevice makes an RDMA device of Soft-RoCE, and returns the value of cuttable. It
// needs root, and NETIO_RDMA_SOFT=yes as the permission to change the machine. The
// device stays: the kernel blocks its removal until no process knows the device any
// more, and blocks further commands behind the removal.
func softDevice(t *testing.T) string {
	t.Helper()
	if os.Getenv("NETIO_RDMA_SOFT") != "yes" {
		t.Skip("no RDMA device whose link may be cut; where there is Soft-RoCE NETIO_RDMA_SOFT=yes runs this test")
	}
	pid := os.Getpid()
	link, host := "cut"+strconv.Itoa(pid), fmt.Sprintf("10.98.%d.%d", pid>>8&255, pid&255)
	command(t, "ip", "link", "add", link, "type", "dummy")
	command(t, "ip", "address", "add", host+"/32", "dev", link)
	command(t, "ip", "link", "set", link, "up")
	command(t, "rdma", "link", "add", "rxe"+link, "type", "rxe", "netdev", link)
	return host + "," + link
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: got error %v and %q, want none", name, args, err, out)
	}
}

// TestNode_aLinkThatIsCutIsNoticed: a device tells only a sender, and the bus always sends:
// its heartbeats. That it connects again when the link is back is not tested: nothing
// connects over Soft-RoCE any more when the link was cut while it was used.
func TestNode_aLinkThatIsCutIsNoticed(t *testing.T) {
	host, link, ok := strings.Cut(os.Getenv(cuttable), ",")
	if !ok { // libfabric knows only the devices that there were when it was first used
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=2m")
		child.Env = append(os.Environ(), cuttable+"="+softDevice(t))
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("the test in a process of its own: got %v and output\n%s\nwant it to pass", err, out)
		}
		return
	}
	addr, dir := netip.AddrPortFrom(netip.MustParseAddr(host), 0), t.TempDir()
	const interval, timeout = 300 * time.Millisecond, 3 * time.Second
	published, subscribed := make(chan bus.Event, 1000), make(chan bus.Event, 1000)
	p := openPublisher(t, dir, bus.PublisherConfig{
		Tags: tags.Of(1), Listening: bus.Listening{Listen: addr}, Common: bus.Common{
			HeartbeatInterval: interval, HeartbeatTimeout: timeout,
			OnEvent: func(e bus.Event) { published <- e },
		},
	})
	s, err := openNode(t, dir).NewSubscriber(bus.SubscriberConfig{
		Common: bus.Common{
			HeartbeatInterval: interval, HeartbeatTimeout: timeout,
			OnEvent: func(e bus.Event) { subscribed <- e },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan string, 100)
	if _, err := s.Subscribe(tags.Of(1), func(m bus.Message) { received <- string(m.Data) }); err != nil {
		t.Fatal(err)
	}
	if err := p.WaitSubscribers(t.Context(), 1, tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	if err := p.PublishContext(t.Context(), 1, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	await(t, "a message", received, func(text string) bool { return text == "hello" })

	command(t, "ip", "link", "set", link, "down")
	lost := func(e bus.Event) bool { return e.Kind == bus.Lost }
	for _, side := range []struct {
		name   string
		events chan bus.Event
	}{{"publisher", published}, {"subscriber", subscribed}} {
		if e := await(t, "Lost at the "+side.name, side.events, lost); e.Err == nil {
			t.Errorf("Lost at the %s: got no error, want why", side.name)
		}
	}
}

// await waits for an event of which want is true.
func await[E any](t *testing.T, what string, events <-chan E, want func(E) bool) E {
	t.Helper()
	for limit := time.After(time.Minute); ; {
		select {
		case e := <-events:
			if want(e) {
				return e
			}
		case <-limit:
			t.Fatalf("%s: got nothing for a minute, want it", what)
		}
	}
}
