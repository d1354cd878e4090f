// SPDX-License-Identifier: Apache-2.0

package scripts_test

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

	"tagbus/internal/testkit"
)

// captured is a packet as the capture library reads it.
type captured struct {
	LinkType layers.LinkType
	Time     time.Time
	Length   int // before it was cut
	Data     string
}

// readCapture reads a capture with nothing but the library.
func readCapture(tb testing.TB, name string) (packets []captured) {
	tb.Helper()
	file, err := os.ReadFile(name)
	testkit.Must(tb, err)
	var source gopacket.PacketDataSource
	var linkType layers.LinkType
	if filepath.Ext(name) == ".pcap" {
		r, err := pcapgo.NewReader(bytes.NewReader(file))
		testkit.Must(tb, err)
		source, linkType = r, r.LinkType()
	} else if source, err = pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true}); err != nil {
		tb.Fatal(err)
	}
	for {
		data, info, err := source.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return packets
		}
		testkit.Must(tb, err)
		if len(info.AncillaryData) > 0 {
			linkType = info.AncillaryData[0].(layers.LinkType)
		}
		packets = append(packets, captured{linkType, info.Timestamp, info.Length, string(data)})
	}
}

// writeCapture writes a capture with nothing but the library.
func writeCapture(tb testing.TB, name string, packets []captured) {
	tb.Helper()
	var file bytes.Buffer
	var err error
	if filepath.Ext(name) == ".pcap" {
		w := pcapgo.NewWriterNanos(&file)
		err = w.WriteFileHeader(65536, packets[0].LinkType)
		for _, p := range packets {
			info := gopacket.CaptureInfo{Timestamp: p.Time, CaptureLength: len(p.Data), Length: p.Length}
			err = errors.Join(err, w.WritePacket(info, []byte(p.Data)))
		}
	} else {
		w, openErr := pcapgo.NewNgWriter(&file, packets[0].LinkType)
		if openErr != nil {
			tb.Fatal(openErr)
		}
		for _, p := range packets { // each from a device of its own
			at, addErr := w.AddInterface(pcapgo.NgInterface{Name: "eth", LinkType: p.LinkType})
			info := gopacket.CaptureInfo{Timestamp: p.Time, CaptureLength: len(p.Data), Length: p.Length, InterfaceIndex: at}
			err = errors.Join(err, addErr, w.WritePacket(info, []byte(p.Data)))
		}
		err = errors.Join(err, w.Flush())
	}
	if err = errors.Join(err, os.WriteFile(name, file.Bytes(), 0o600)); err != nil {
		tb.Fatal(err)
	}
}

// TestCapturesKeepWhatTheyHad publishes a capture, writes what is received as a capture
// again, and compares both packet for packet.
func TestCapturesKeepWhatTheyHad(t *testing.T) {
	at := time.Date(2009, 2, 13, 23, 31, 30, 123456789, time.UTC)
	cooked := []captured{
		{layers.LinkTypeLinuxSLL, at, 1500, "cut at 68 bytes"},
		{layers.LinkTypeLinuxSLL, at.Add(time.Nanosecond), 5, "whole"},
		{layers.LinkTypeLinuxSLL, at.Add(-time.Hour), 9000, ""},
		{layers.LinkTypeLinuxSLL, time.Unix(0, 0).UTC(), 1<<31 - 1, "at the beginning of time"},
	}
	mixed := append([]captured{
		{layers.LinkTypeEthernet, at.Add(2), 64, "ethernet"},
		{layers.LinkType(65535), time.Date(2200, 1, 1, 0, 0, 0, 1, time.UTC), 8, "none has"},
	}, cooked...)
	tests := []struct {
		name, in, out string
		packets       []captured
		send          bool
	}{
		{"pcap to pcap", "in.pcap", "out.pcap", cooked, false},
		{"pcap to pcapng", "in.pcap", "out.pcapng", cooked, false},
		{"pcapng to pcap", "in.pcapng", "out.pcap", cooked, false},
		{"pcapng to pcapng, of several link types", "in.pcapng", "out.pcapng", mixed, false},
		{"what is sent to a receiver", "in.pcapng", "out.pcapng", mixed, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			in, out := filepath.Join(dir, test.in), filepath.Join(dir, test.out)
			writeCapture(t, in, test.packets)
			from := []string{"publisher", "--bus", filepath.Join(dir, "bus"), "--tags", "5", "--input", in, "--record", "pcap"}
			to := []string{"subscriber", "--bus", filepath.Join(dir, "bus"), "--tags", "5", "--output", out, "--record", filepath.Ext(out)[1:], "--until-goodbye"}
			if test.send {
				from, to = append(from, "--send"), append(to, "--receive")
			} else {
				from = append(from, "--wait-subscribers", "1")
			}
			sub := run(t, "sub", to...)
			pub := run(t, "pub", from...)
			pub.await(` publisher: each message begins with a record header of 24 bytes, which subscriber takes off: --no-record-header leaves it out$`)
			pub.finish(0)
			sub.finish(0)
			if diff := cmp.Diff(test.packets, readCapture(t, out)); diff != "" {
				t.Errorf("packets differ (-sent +got):\n%s", diff)
			}
		})
	}
}
