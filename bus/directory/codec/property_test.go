// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"bytes"
	"errors"
	"math"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/tags"
)

// drawAddress returns one that can be dialled.
func drawAddress(t *rapid.T, label string) netip.AddrPort {
	ip := netip.AddrFrom4([4]byte{10, 0, 0, rapid.Byte().Draw(t, label+" host")})
	if rapid.Bool().Draw(t, label+" is of 16 bytes") {
		ip = netip.MustParseAddr("fe80::1").WithZone(rapid.StringMatching(`[a-z0-9.]{0,10}`).Draw(t, "zone"))
	}
	return netip.AddrPortFrom(ip, uint16(rapid.IntRange(1, 65535).Draw(t, label+" port")))
}

// drawTags returns a set of up to 3,000 ranges, and patterns.
func drawTags(t *rapid.T) tags.Set {
	n := rapid.SampledFrom([]int{0, 1, 7, 3000}).Draw(t, "tags")
	step := rapid.Uint64Range(1, 1<<40).Draw(t, "step")
	base := rapid.Uint64().Draw(t, "base")
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tags.Tag(base + uint64(i)*step)
	}
	set := tags.Of(list...)
	for range rapid.IntRange(0, 3).Draw(t, "patterns") {
		set = set.Union(tags.Match(tags.Tag(rapid.Uint64().Draw(t, "value")), tags.Tag(rapid.Uint64().Draw(t, "mask"))))
	}
	return set
}

// drawEntry returns a valid one.
func drawEntry(t *rapid.T) directory.Entry {
	text := rapid.SampledFrom([]string{"", "felix-07", "<&>", `"\`, "ÅÄÖ ×", "0"})
	e := directory.Entry{
		Instance: rapid.StringMatching(`[0-9A-Za-z_-]{1,64}`).Draw(t, "instance"),
		Name:     text.Draw(t, "name"), Host: text.Draw(t, "host"), PID: rapid.IntRange(0, min(1<<40, math.MaxInt)).Draw(t, "pid"),
		Role:    rapid.SampledFrom([]directory.Role{directory.Publisher, directory.Receiver, "recorder"}).Draw(t, "role"),
		Backend: rapid.SampledFrom([]string{"tcp", "rdma:verbs"}).Draw(t, "backend"), Tags: drawTags(t),
		PageBytes:       rapid.IntRange(1, directory.MaxSizeBytes).Draw(t, "page"),
		MaxMessageBytes: rapid.IntRange(1, directory.MaxSizeBytes).Draw(t, "message"),
	}
	for range rapid.IntRange(1, directory.MaxAddresses).Draw(t, "addresses") {
		e.Addresses = append(e.Addresses, drawAddress(t, "address"))
	}
	if rapid.Bool().Draw(t, "has a time") {
		e.Since = time.Unix(0, rapid.Int64Range(1, 1<<62).Draw(t, "since"))
	}
	if rapid.Bool().Draw(t, "has a monitor") {
		e.Monitor = drawAddress(t, "monitor")
	}
	if rapid.Bool().Draw(t, "is a copy") {
		e.Mirror = rapid.StringMatching(`[0-9A-Za-z_-]{1,64}`).Draw(t, "mirror")
	}
	return e
}

func TestAnyEntryIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntry(t)
		if err := e.Validate(); err != nil {
			t.Fatalf("the test drew an entry that is not valid: %v", err)
		}
		data, err := codec.Append(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := codec.Decode(data); err != nil || !got.Equal(e) {
			t.Fatalf("got %+v, %v, want %+v", got, err, e)
		}
		if again, err := codec.Append(nil, e); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("got other bytes of the same entry, %v", err)
		}
	})
}

// FuzzDecode: any bytes are an entry that can be written again, or a typed error.
func FuzzDecode(f *testing.F) {
	large := full(f, "")
	large.Tags = lattice(5000)
	for _, e := range []directory.Entry{full(f, ""), full(f, "1,5-7,0x0&0xff00"), large} {
		f.Add(encode(f, e))
	}
	f.Add([]byte(plain + section(1, goodFields) + section(2, noTags) + section(255, "signature")))
	f.Add([]byte(compressed + deflated(f, section(1, goodFields)+section(2, noTags))))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := codec.Decode(data)
		if err != nil {
			if !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, codec.ErrVersion) && !errors.Is(err, codec.ErrTooLarge) {
				t.Fatalf("%x: got %v, want a typed error", data, err)
			}
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("%x: got an entry that is not valid: %v", data, err)
		}
		again, err := codec.Append(nil, e)
		if err != nil {
			t.Fatalf("%x: cannot be written again: %v", data, err)
		}
		if got, err := codec.Decode(again); err != nil || !got.Equal(e) {
			t.Fatalf("%x: got %+v, %v, want %+v", data, got, err, e)
		}
	})
}
