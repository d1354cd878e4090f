// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_severalDevices: a publisher listens by each device of its list, and the connections are shared out.
func TestNode_severalDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it does not use the RDMA device that there is")
	}
	for _, provider := range []string{"tcp", "net/rdm"} {
		t.Run(provider, func(t *testing.T) {
			names := [2]string{"rdma:" + provider + "@127.0.0.2", "rdma:" + provider + "@127.0.0.3"}
			cfg := node.Config{Bus: t.TempDir(), Backend: strings.Join(names[:], ",")}
			n := openNodeWith(t, cfg)
			p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: netip.MustParseAddrPort("0.0.0.0:0")}})
			if err != nil {
				t.Fatal(err)
			}
			entries, _ := n.Directory().List()
			if len(entries) != 1 || entries[0].Backend != "rdma:"+provider || len(entries[0].Ways) != 0 || len(entries[0].Addresses) != 2 ||
				entries[0].Addresses[0].Addr().String() != "127.0.0.2" || entries[0].Addresses[1].Addr().String() != "127.0.0.3" {
				t.Fatalf("entry: got %+v, want rdma:%s at an address of each device", entries, provider)
			}
			least := 4
			if testing.Short() {
				least = 2
			}
			readers := onBoth(t, least, names, func(i int) *reading {
				reader := cfg
				if i%2 == 1 { // one that leaves the choice of its device to the system, as all did before
					reader.Backend = "rdma:" + provider
				}
				r := startReading(t, reader, bus.Common{}, bus.Block)
				if i%2 == 1 {
					r.device.Store(names[i/2%2])
				}
				return r
			})
			const messages = 1000
			for i := range messages {
				if err := p.PublishContext(t.Context(), 1, binary.LittleEndian.AppendUint64(nil, uint64(i+1))); err != nil {
					t.Fatal(err)
				}
			}
			p.Flush()
			for i, r := range readers {
				eventually(t, fmt.Sprint("all messages at subscriber ", i), func() bool { return r.received.Load() == messages })
				if r.wrong.Load() != 0 {
					t.Errorf("subscriber %d: got %d messages twice or late", i, r.wrong.Load())
				}
			}
			theirs := make(map[string]int)
			for _, peer := range stateOf(t, p).Peers {
				theirs[peer.Backend]++
			}
			if len(theirs) == 0 || theirs[names[0]]+theirs[names[1]] != len(readers) {
				t.Errorf("devices of the connections in the state: got %v, want %v for %d", theirs, names, len(readers))
			}
		})
	}
}

// TestNode_severalDevicesAndAnyDevice: what has several devices dials one that leaves the choice to the system, as all did before. The
// other way round is in TestNode_severalDevices.
func TestNode_severalDevicesAndAnyDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it does not use the RDMA device that there is")
	}
	for _, provider := range []string{"tcp", "net/rdm"} {
		t.Run(provider, func(t *testing.T) {
			cfg := node.Config{Bus: t.TempDir(), Backend: "rdma:" + provider}
			p, err := openNodeWith(t, cfg).NewPublisher(bus.PublisherConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: netip.MustParseAddrPort("127.0.0.4:0")}})
			if err != nil {
				t.Fatal(err)
			}
			names := [2]string{cfg.Backend + "@127.0.0.2", cfg.Backend + "@127.0.0.3"}
			cfg.Backend = strings.Join(names[:], ",")
			readers := onBoth(t, 2, names, func(int) *reading { return startReading(t, cfg, bus.Common{}, bus.Block) })
			if err := p.PublishContext(t.Context(), 1, binary.LittleEndian.AppendUint64(nil, 1)); err != nil {
				t.Fatal(err)
			}
			p.Flush()
			for i, r := range readers {
				eventually(t, fmt.Sprint("the message at subscriber ", i), func() bool { return r.received.Load() == 1 })
			}
			for _, peer := range stateOf(t, p).Peers {
				if want := "rdma:" + provider; peer.Backend != want {
					t.Errorf("device of a connection in the state: got %s, want %s", peer.Backend, want)
				}
			}
		})
	}
}

func TestNode_devicesThatCannotBeUsed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it does not use the RDMA device that there is")
	}
	open := func(backend string, listen string) error {
		_, err := openNodeWith(t, node.Config{Bus: t.TempDir(), Backend: backend}).NewPublisher(bus.PublisherConfig{
			Tags: tags.Of(1), Listening: bus.Listening{Listen: netip.MustParseAddrPort(listen)},
		})
		return err
	}
	tests := []struct {
		name, backend, listen string
		is                    error
		want                  []string
	}{
		{"that there is not", "rdma:tcp@nic9,tcp", "0.0.0.0:0", rdma.ErrNoDevice, []string{`"nic9"`, "tcp", "lo", "--fabrics"}},
		{"at an address that this host has not", "rdma:tcp@192.0.2.77", "0.0.0.0:0", rdma.ErrNoDevice, []string{`"192.0.2.77"`}},
		{"at the address of another one", "rdma:tcp@127.0.0.2", "127.0.0.3:0", netio.ErrInvalidAddress, []string{`127.0.0.3 is none of the device "127.0.0.2"`, "listen on"}},
		{"that is there without RDMA", "rdma:verbs@lo", "0.0.0.0:0", rdma.ErrNoDevice, []string{"verbs"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := open(test.backend, test.listen)
			if !errors.Is(err, test.is) {
				t.Fatalf("got error %v, want %v", err, test.is)
			}
			for _, text := range test.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("got error %v, want %q in it", err, text)
				}
			}
		})
	}
	if err := open("rdma:tcp@lo", "0.0.0.0:0"); err != nil {
		t.Errorf("the device lo by its name: got error %v, want none", err)
	}
}
