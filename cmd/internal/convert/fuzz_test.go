// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"os"
	"testing"

	"tagbus/cmd/internal/convert"
	"tagbus/recording"
)

// FuzzPacket: whatever a packet has, a capture of it becomes a recording that can be read,
// and the packet that is made of its record is the same.
func FuzzPacket(f *testing.F) {
	good := func(change func(b []byte)) []byte {
		b := make([]byte, 40)
		b[16] = 1
		change(b)
		return b
	}
	f.Add(good(func([]byte) {}))
	f.Add(good(func(b []byte) { b[19] = 1 }))
	f.Add(good(func(b []byte) { b[17], b[18] = 3, 1 }))
	f.Add(append(good(func(b []byte) { b[17] = 1 })[:20], "0x1-0x5"...))
	f.Add(good(func(b []byte) { b[19], b[27] = 4, 12 })) // a packet of one piece
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packet []byte) {
		b := newBed(t)
		b.capture("in.pcap", 147, 0, packet)
		r := b.run("in.pcap", "--out", "in.tbr")
		if errors.Is(r.err, convert.ErrLinkType) {
			t.Fatal("the link type is lost")
		}
		if _, err := os.Stat(b.path("in.tbr")); err != nil {
			t.Fatalf("no recording: %s", r.said)
		}
		got := b.read("in.tbr")
		if len(got) == 1 && got[0].Kind == recording.Stopped { // the packet is none
			return
		}
		b.run("in.tbr", "--to", "pcapng", "--out", "again.pcapng")
		b.run("again.pcapng", "--out", "again.tbr")
		differ(t, got, b.read("again.tbr"))
	})
}
