// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
)

// cooked is a packet of 60 bytes of 1500, which have come over any device.
func cooked() record.Info {
	return record.Info{LinkType: 113, Time: time.Date(2009, 2, 13, 23, 31, 30, 123456789, time.UTC), Length: 1500}
}

func TestRecordHeader(t *testing.T) {
	got, err := record.AppendHeader([]byte("before "), cooked(), 60)
	testkit.Must(t, err)
	want := hex.EncodeToString([]byte("before \x89tagbus\n")) +
		"01" + "00" + // version, reserved
		"7100" + // link type
		"dc050000" + // original length
		"1581e97df4102211" // time
	if hex.EncodeToString(got) != want {
		t.Errorf("got\n%x\nwant\n%s", got, want)
	}
	packet, err := record.Open(append(got[len("before "):], "some bytes"...))
	if diff := cmp.Diff(record.Packet{Data: []byte("some bytes"), Known: true, Info: cooked()}, packet); diff != "" || err != nil {
		t.Errorf("got error %v; packets differ (-want +got):\n%s", err, diff)
	}
}

func TestAMessageWithoutRecordHeaderIsAPacket(t *testing.T) {
	for _, message := range []string{"", "some bytes", "\x89tagbus", "\x89PNG\r\n\x1a\n and more than a header", strings.Repeat("\x00", 100)} {
		got, err := record.Open([]byte(message))
		if got.Known || string(got.Data) != message || err != nil {
			t.Errorf("%q: got %+v and %v, want it as it is", message, got, err)
		}
	}
}

func TestWhatARecordHeaderCannotHold(t *testing.T) {
	tests := []struct {
		name     string
		change   func(*record.Info)
		captured int
		want     string // after the sentinel; empty: it can
	}{
		{"the whole packet", func(*record.Info) {}, 1500, ""},
		{"more than the packet", func(*record.Info) {}, 1501, "1501 bytes were captured of a packet of 1500"},
		{"the beginning", func(i *record.Info) { i.Time = time.Unix(0, 0) }, 0, ""},
		{"before it", func(i *record.Info) { i.Time = time.Unix(0, -1) }, 0, "its time, 1969-12-31T23:59:59.999999999Z, is outside of 1970 to 2262"},
		{"the end", func(i *record.Info) { i.Time = time.Unix(9223372035, 999999999) }, 0, ""},
		{"behind it", func(i *record.Info) { i.Time = time.Unix(9223372036, 0) }, 0, "its time, 2262-04-11T23:47:16Z, is outside of 1970 to 2262"},
		{"no time", func(i *record.Info) { i.Time = time.Time{} }, 0, "its time, 0001-01-01T00:00:00Z, is outside of 1970 to 2262"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			info := cooked()
			test.change(&info)
			header, err := record.AppendHeader(nil, info, test.captured)
			if test.want != "" {
				if want := "not a file of this format: " + test.want; !errors.Is(err, record.ErrDamaged) || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
				return
			}
			packet, openErr := record.Open(append(header, make([]byte, test.captured)...))
			if !packet.Time.Equal(info.Time) || errors.Join(err, openErr) != nil {
				t.Errorf("got %v and %v, want %v", packet, errors.Join(err, openErr), info.Time)
			}
		})
	}
}

func TestRecordHeadersThatCannotBeRead(t *testing.T) {
	good, err := record.AppendHeader(nil, cooked(), 60)
	testkit.Must(t, err)
	good = append(good, make([]byte, 60)...)
	tests := []struct {
		name   string
		change func(b []byte) []byte
		want   string
	}{
		{"an end within it", func(b []byte) []byte { return b[:23] }, "it has 23 of 24 bytes"},
		{"a later version", func(b []byte) []byte { b[8] = 2; return b }, "its version is 2.0, and this program knows 1.0"},
		{"another use of what is reserved", func(b []byte) []byte { b[9] = 7; return b }, "its version is 1.7, and this program knows 1.0"},
		{"more than the packet", func(b []byte) []byte { b[12], b[13] = 59, 0; return b }, "60 bytes of a packet of 59"},
		{"a time beyond", func(b []byte) []byte { copy(b[16:], "\xff\xff\xff\xff\xff\xff\xff\x7f"); return b }, "its time, 9223372036854775807 ns, is after 2262"},
		{"a time far beyond", func(b []byte) []byte { b[23] = 0xff; return b }, "its time, 18384275271150305557 ns, is after 2262"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := record.Open(test.change(bytes.Clone(good)))
			if want := "record header that cannot be read: " + test.want; !errors.Is(err, record.ErrHeader) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestLinkType(t *testing.T) {
	for text, want := range map[string]record.LinkType{"0": 0, "113": 113, "0x71": 113, "65535": 65535} {
		var got record.LinkType
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: got %d and %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "ethernet", "65536", "-1"} {
		got := record.LinkType(7)
		err := got.UnmarshalText([]byte(text))
		if want := `"` + text + `" is no link type: want 0 to 65535, for example 1 (Ethernet) or 113 (Linux cooked)`; err == nil || err.Error() != want || got != 7 {
			t.Errorf("%q: got %d and %v, want 7 and %s", text, got, err, want)
		}
	}
}
