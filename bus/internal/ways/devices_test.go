// SPDX-License-Identifier: Apache-2.0

package ways_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/internal/dialer"
)

// peer returns the entry of one with so many devices, at 10.0.0.1 and so on.
func peer(instance string, devices int) directory.Entry {
	e := directory.Entry{Instance: instance, Backend: "rdma:verbs"}
	for i := range devices {
		e.Addresses = append(e.Addresses, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), 7000))
	}
	return e
}

// Connections are shared out among the devices of both sides, each pair of instances in an order of
// its own, which is the same each time.
func TestConnectionsAreSharedOutAmongDevices(t *testing.T) {
	const pairs = 1600
	for _, test := range []struct{ ours, theirs int }{{1, 2}, {2, 1}, {2, 2}, {3, 2}, {2, 4}, {8, 8}} {
		var names []string
		for i := range test.ours {
			names = append(names, fmt.Sprintf("rdma:verbs@d%d", i))
		}
		bs := ours(names...)
		first := make(map[string]int)
		for i := range pairs {
			own, entry := fmt.Sprint("subscriber", i%200), peer(fmt.Sprint("publisher", i/200), test.theirs)
			targets := bs.Targets(own, entry)
			if again := bs.Targets(own, entry); !slices.Equal(targets, again) {
				t.Fatalf("%+v: got %v and then %v", test, targets, again)
			}
			seen := make(map[dialer.Target]bool)
			for _, to := range targets {
				seen[to] = true
			}
			if len(seen) != test.ours*test.theirs || len(targets) != len(seen) {
				t.Fatalf("%+v: got targets %v, want each device with each address once", test, targets)
			}
			if test.ours > 1 && test.theirs > 1 && (targets[0].Backend == targets[1].Backend || targets[0].Addr == targets[1].Addr) {
				t.Fatalf("%+v: got %v, want other devices at both sides in the second one", test, targets)
			}
			first[targets[0].Backend]++
			first[targets[0].String()]++
		}
		if len(first) != test.ours+test.theirs {
			t.Errorf("%+v: first are %v, want all of both sides", test, first)
		}
		for name, n := range first {
			want := pairs / test.ours
			if !strings.HasPrefix(name, "rdma") {
				want = pairs / test.theirs
			}
			if n < want*3/4 || n > want*5/4 {
				t.Errorf("%+v: of %d connections %d are by %s, want about %d", test, pairs, n, name, want)
			}
		}
	}
}

// A device dials the peers of its own network first, and those at loopback last.
func TestDevicesDialTheirOwnNetworkFirst(t *testing.T) {
	e := directory.Entry{
		Instance: "p", Backend: "rdma:verbs",
		Addresses: slices.Concat(at("127.0.0.1:1"), at("10.1.0.1:1"), at("10.2.0.1:1"), at("10.3.0.1:1")),
	}
	bs := ours("rdma:verbs@10.1.", "rdma:verbs@10.2.")
	for i := range 50 {
		targets := bs.Targets(fmt.Sprint(i), e)
		var groups []string
		for _, to := range targets {
			_, network, _ := strings.Cut(to.Backend, "@")
			switch {
			case strings.HasPrefix(to.String(), network):
				groups = append(groups, "near")
			case to.Addr.Addr().IsLoopback():
				groups = append(groups, "loopback")
			default:
				groups = append(groups, "far")
			}
		}
		if got, want := strings.Join(groups, " "), "near near far far far far loopback loopback"; got != want {
			t.Fatalf("got %s in %v, want %s", got, targets, want)
		}
	}
}

// However many devices and addresses there are, no more is dialed than an entry may name, each address at least once.
func TestTheTargetsOfDevicesAreBounded(t *testing.T) {
	bs := ours("rdma:verbs@a", "rdma:verbs@b", "rdma:verbs@c", "rdma:verbs@d", "rdma:verbs@e", "rdma:verbs@f", "rdma:verbs@g", "rdma:verbs@h")
	dialed := make(map[netip.AddrPort]bool)
	targets := bs.Targets("own", peer("p", directory.MaxAddresses))
	for _, to := range targets {
		dialed[to.Addr] = true
	}
	if len(targets) != directory.MaxAddresses || len(dialed) != directory.MaxAddresses {
		t.Errorf("got %d targets at %d addresses, want %d of both", len(targets), len(dialed), directory.MaxAddresses)
	}
}

// What the directory has is kinds of backends, which are never more than the lists name.
func TestTheKindsOfBackends(t *testing.T) {
	bs := ours("shm", "rdma:verbs@a", "rdma:verbs@b", "tcp")
	if got, want := bs.Kinds(), "shm,rdma:verbs,tcp"; got != want {
		t.Errorf("Kinds: got %s, want %s", got, want)
	}
	for name, want := range map[string]bool{"rdma:verbs": true, "tcp": true, "rdma:verbs@a": false, "tls": false} {
		if got := bs.Has(name); got != want {
			t.Errorf("Has of %s: got %t, want %t", name, got, want)
		}
	}
	for name, want := range map[string]bool{"rdma:verbs@a": true, "tcp": false, "shm": false, "other": false} {
		if got := bs.Spread(name); got != want {
			t.Errorf("Spread of %s: got %t, want %t", name, got, want)
		}
	}
	if got := bs.Sole(peer("p", 3)); len(got) != 6 {
		t.Errorf("Sole: got %v, want each device with each address", got)
	}
}
