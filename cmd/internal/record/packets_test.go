// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
)

// readPackets returns the packets of a capture, with what it says of them.
func readPackets(tb testing.TB, file []byte) (packets []record.Packet) {
	tb.Helper()
	r, err := record.NewReader(format(tb, "pcap"), bytes.NewReader(file), 1<<20)
	testkit.Must(tb, err)
	for {
		data, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packets
		}
		testkit.Must(tb, err)
		info, err := r.Info()
		testkit.Must(tb, err)
		packets = append(packets, record.Packet{Data: bytes.Clone(data), Known: true, Info: info})
	}
}

// writePackets writes packets through messages, as publisher and subscriber do.
func writePackets(tb testing.TB, name string, packets ...record.Packet) ([]byte, error) {
	tb.Helper()
	var out bytes.Buffer
	w, err := record.NewWriter(format(tb, name), &out, record.Ethernet)
	testkit.Must(tb, err)
	for _, p := range packets {
		message, err := record.AppendHeader(nil, p.Info, len(p.Data))
		testkit.Must(tb, err)
		opened, err := record.Open(append(message, p.Data...))
		testkit.Must(tb, err)
		if err := w.Write(opened); err != nil {
			return nil, err
		}
	}
	err = w.End()
	return out.Bytes(), err
}

// library returns what the capture library, which wrote none of it, reads.
func library(tb testing.TB, name string, file []byte) (packets []record.Packet) {
	tb.Helper()
	var r interface {
		ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	}
	linkType := layers.LinkTypeNull
	if name == "pcap" {
		p, err := pcapgo.NewReader(bytes.NewReader(file))
		testkit.Must(tb, err)
		r, linkType = p, p.LinkType()
	} else {
		p, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true})
		testkit.Must(tb, err)
		r = p
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return packets
		}
		testkit.Must(tb, err)
		if len(info.AncillaryData) > 0 {
			linkType = info.AncillaryData[0].(layers.LinkType)
		}
		packets = append(packets, record.Packet{Data: data, Known: true, Info: record.Info{
			LinkType: record.LinkType(linkType), Time: info.Timestamp, Length: uint32(info.Length),
		}})
	}
}

// old are packets that a capture has cut, long ago.
func old(linkTypes ...record.LinkType) (packets []record.Packet) {
	for i, l := range linkTypes {
		packets = append(packets, record.Packet{Data: []byte("packet"), Known: true, Info: record.Info{
			LinkType: l, Time: time.Date(2001, 2, 3, 4, 5, 6, 789+i, time.UTC), Length: uint32(6 + i),
		}})
	}
	return packets
}

func TestCapturesKeepWhatTheyHave(t *testing.T) {
	tests := []struct {
		name, format string
		packets      []record.Packet
	}{
		{"pcap of Linux cooked packets", "pcap", old(113, 113, 113)},
		{"pcapng of Linux cooked packets", "pcapng", old(113, 113, 113)},
		{"pcapng of several link types", "pcapng", old(113, 1, 228, 1, 113, 65535)},
		{"pcap of nothing", "pcap", nil},
		{"pcapng of nothing", "pcapng", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file, err := writePackets(t, test.format, test.packets...)
			testkit.Must(t, err)
			if diff := cmp.Diff(test.packets, library(t, test.format, file)); diff != "" {
				t.Errorf("the library reads others (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.packets, readPackets(t, file)); diff != "" {
				t.Errorf("the reader reads others (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPacketsOfWhichNothingIsKnown(t *testing.T) {
	for _, name := range []string{"pcap", "pcapng"} {
		var out bytes.Buffer
		w, err := record.NewWriter(format(t, name), &out, 113)
		testkit.Must(t, err)
		before := time.Now()
		testkit.Must(t, w.Write(record.Packet{Data: []byte("some bytes")}))
		testkit.Must(t, w.End())
		got := library(t, name, out.Bytes())
		if len(got) != 1 || got[0].LinkType != 113 || got[0].Length != 10 || string(got[0].Data) != "some bytes" {
			t.Fatalf("%s: got %+v, want one of link type 113 and 10 bytes", name, got)
		}
		if at := got[0].Time; at.Before(before) || at.After(time.Now()) {
			t.Errorf("%s: got time %v, want that of writing", name, at)
		}
	}
}

func TestPacketsThatPcapCannotHold(t *testing.T) {
	late := old(1)
	late[0].Time = time.Date(2106, 2, 7, 6, 28, 16, 0, time.UTC)
	tests := []struct {
		name    string
		packets []record.Packet
		want    string
	}{
		{"a second link type", old(113, 1), "it has link type 1, the first one had 113, and the file holds one: use pcapng"},
		{"a time beyond 32 bits", late, "its time, 2106-02-07T06:28:16Z, is outside of 1970 to 2106: use pcapng"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := writePackets(t, "pcap", test.packets...)
			if want := "pcap cannot hold this packet: " + test.want; !errors.Is(err, record.ErrUnfit) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
			file, err := writePackets(t, "pcapng", test.packets...)
			testkit.Must(t, err)
			if diff := cmp.Diff(test.packets, library(t, "pcapng", file)); diff != "" {
				t.Errorf("pcapng differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInterfacesAreToldApart uses a file with a packet on each of two interfaces.
func TestInterfacesAreToldApart(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "two-link-types.pcapng"))
	testkit.Must(t, err)
	if diff := cmp.Diff(library(t, "pcapng", file), readPackets(t, file)); diff != "" {
		t.Errorf("packets differ (-want +got):\n%s", diff)
	}
}

func TestOnlyCapturesKnowOfPackets(t *testing.T) {
	r, err := record.NewReader(format(t, "lines"), bytes.NewReader([]byte("a\n")), 100)
	testkit.Must(t, err)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Info(); got != (record.Info{}) || err != nil {
		t.Errorf("got %+v and %v, want nothing", got, err)
	}
}

// A caller counts a message as handed on once its buffer has gone out: a writer has none of its own.
func TestEachPacketIsHandedOn(t *testing.T) {
	for _, name := range []string{"pcap", "pcapng"} {
		var out bytes.Buffer
		w, err := record.NewWriter(format(t, name), &out, record.Ethernet)
		testkit.Must(t, err)
		for range 2 {
			testkit.Must(t, w.Write(record.Packet{Data: []byte("packet")}))
			handed := out.Len()
			if testkit.Must(t, w.Flush()); out.Len() != handed {
				t.Errorf("%s: got %d bytes for a packet, and %d more when it was flushed, want all at once", name, handed, out.Len()-handed)
			}
		}
	}
}
