// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio/rdma"
)

// host returns files of a host, by name. One whose name ends in / is an empty
// folder.
func host(files map[string]string) fs.FS {
	root := fstest.MapFS{}
	for name, text := range files {
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			root[folder] = &fstest.MapFile{Mode: fs.ModeDir}
			continue
		}
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// withRoCE are the files of a host with a device in order.
func withRoCE(change map[string]string) fs.FS {
	files := map[string]string{
		"sys/class/infiniband/rxe0/ports/1/state": "4: ACTIVE\n",
		"sys/class/infiniband/rxe0/ports/1/rate":  "2.5 Gb/sec (1X SDR)\n",
		"dev/infiniband/uverbs0":                  "",
		"dev/infiniband/rdma_cm":                  "",
		"sys/class/net/eth0/speed":                "25000\n",
		"sys/class/net/lo/speed":                  "-1\n",
	}
	for name, text := range change {
		if text == "" {
			delete(files, name)
		} else {
			files[name] = text
		}
	}
	return host(files)
}

var (
	verbsOffer = rdma.Fabric{
		Provider: "verbs", Domain: "rxe0", Kinds: []string{"FI_EP_MSG"}, Usable: true,
		MaxMessageBytes: 8 << 20, SharedReceive: true, Addresses: []netip.Addr{netip.MustParseAddr("10.99.0.1")},
	}
	tcpOffer = rdma.Fabric{
		Provider: "tcp", Domain: "eth0", Kinds: []string{"FI_EP_MSG"}, Usable: true,
		MaxMessageBytes: rdma.Unlimited, SharedReceive: true, Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.2")},
	}
)

// otherwise returns an offer of the same provider and domain.
func otherwise(f rdma.Fabric, kind, addr string, usable bool) rdma.Fabric {
	f.Kinds, f.Addresses, f.Usable = []string{kind}, []netip.Addr{netip.MustParseAddr(addr)}, usable
	return f
}

func TestSurvey_Text_isATable(t *testing.T) {
	datagrams := rdma.Fabric{Provider: "udp", Domain: "lo", Kinds: []string{"FI_EP_DGRAM"}, MaxMessageBytes: 1472, Down: true}
	s := rdma.SurveyOf(withRoCE(nil), "1.17", []rdma.Fabric{
		datagrams, tcpOffer, otherwise(tcpOffer, "FI_EP_MSG", "fd00::2", true), verbsOffer, otherwise(verbsOffer, "FI_EP_DGRAM", "10.99.0.1", false),
	}, rdma.Unlimited)
	want := `libfabric 1.17

backend     domain  link       endpoints            largest message  shared receive  addresses
tcp         any     -          connected            2 GiB            yes             any
rdma:verbs  rxe0    ?          datagram, connected  8 MiB            yes             10.99.0.1
rdma:tcp    eth0    25 Gbit/s  connected            unlimited        yes             192.0.2.2 fd00::2
none (udp)  lo      down       datagram             1 KiB            no              -

device  port  state   rate
rxe0    1     ACTIVE  2.5 Gb/sec (1X SDR)

memory that may be locked: unlimited
nothing is missing
`
	if diff := cmp.Diff(want, s.Text()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestSurvey_Text_saysWhatIsMissing(t *testing.T) {
	all := []rdma.Fabric{verbsOffer, tcpOffer}
	tests := []struct {
		name    string
		root    fs.FS
		version string
		offers  []rdma.Fabric
		memlock uint64
		want    []string // beginnings
	}{
		{"nothing", withRoCE(nil), "1.17", all, rdma.Unlimited, nil},
		{"a limit that is enough", withRoCE(nil), "1.17", all, 256 << 20, nil},
		{"a limit that is not", withRoCE(nil), "1.17", all, 8 << 20, []string{"this process may lock only 8 MiB of memory"}},
		{"a limit that matters to nobody", host(nil), "1.17", all[1:], 8 << 20, []string{"no RDMA driver is loaded (/sys/class/infiniband is missing)"}},
		{"a program without libfabric", withRoCE(nil), "", nil, rdma.Unlimited, []string{"this program was built without libfabric: only the backend tcp works: install libfabric-dev"}},
		{"no device", host(map[string]string{"sys/class/infiniband/": ""}), "1.17", nil, rdma.Unlimited, []string{"no RDMA device (/sys/class/infiniband is empty)"}},
		{"a port without link", withRoCE(map[string]string{"sys/class/infiniband/rxe0/ports/1/state": "1: DOWN\n"}), "1.17", all, rdma.Unlimited, []string{"port 1 of rxe0 is down, want ACTIVE"}},
		{"no access to the device", withRoCE(map[string]string{"dev/infiniband/uverbs0": ""}), "1.17", all[1:], rdma.Unlimited, []string{"/dev/infiniband/uverbs* is missing: modprobe ib_uverbs"}},
		{"no connection manager", withRoCE(map[string]string{"dev/infiniband/rdma_cm": ""}), "1.17", all[1:], rdma.Unlimited, []string{"/dev/infiniband/rdma_cm is missing: modprobe rdma_ucm"}},
		{"a device without address", withRoCE(nil), "1.17", all[1:], rdma.Unlimited, []string{"libfabric's provider verbs offers none of the devices"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := rdma.SurveyOf(test.root, test.version, test.offers, test.memlock).Problems
			if len(got) != len(test.want) {
				t.Fatalf("got problems %q, want %q", got, test.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], test.want[i]) {
					t.Errorf("got problem %q, want %q", got[i], test.want[i])
				}
			}
		})
	}
}

func TestSurvey_whoMayLockAll(t *testing.T) {
	tests := []struct {
		name, status string
		want         bool
	}{
		{"root", "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\n", true},
		{"that capability alone", "CapEff:\t0000000000004000\n", true},
		{"all others", "CapEff:\t000001ffffffbfff\n", false},
		{"a user", "CapEff:\t0000000000000000\n", false},
		{"nothing that can be read", "", false},
	}
	for _, test := range tests {
		if got := rdma.MayLockAll(host(map[string]string{"proc/self/status": test.status})); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}
