// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/subscription"
)

// Hex of the fields' names, each with the length in front.
const (
	instanceKey = "a8'instance'"
	expectKey   = "a6'expect'"
	nameKey     = "a4'name'"
	hostKey     = "a4'host'"
	pidKey      = "a3'pid'"
	maxKey      = "b1'max_message_bytes'"
	beatKey     = "a7'beat_ms'"
	helloV1     = "'TAGBUS'0100"
	smallHello  = helloV1 + "82" + instanceKey + "a1'i'" + maxKey + "00"
)

func TestAppendHello_bytes(t *testing.T) {
	tests := []struct {
		name  string
		hello subscription.Hello
		want  string
	}{
		{"only what is required", subscription.Hello{Instance: "i"}, smallHello},
		{
			"everything",
			subscription.Hello{
				Instance: "NPO5QMNV0Z8LBX9YJ7X0S1", Expect: "NPO5QMNV0Z8LBX9YJ7X0T2", Name: "readout",
				Host: "felix1", PID: 4711, MaxMessageBytes: 1 << 20, BeatMillis: 2000,
			},
			helloV1 + "87" + instanceKey + "b6'NPO5QMNV0Z8LBX9YJ7X0S1'" + expectKey + "b6'NPO5QMNV0Z8LBX9YJ7X0T2'" +
				nameKey + "a7'readout'" + hostKey + "a6'felix1'" + pidKey + "cd1267" + maxKey + "ce00100000" + beatKey + "cd07d0",
		},
		{
			"a sender",
			subscription.Hello{Instance: "i", Role: subscription.RoleSender},
			helloV1 + "83" + instanceKey + "a1'i'" + "a4'role'" + "a6'sender'" + maxKey + "00",
		},
		{
			"a text of the greatest length",
			subscription.Hello{Instance: strings.Repeat("x", 255), MaxMessageBytes: 127},
			helloV1 + "82" + instanceKey + "d9ff'" + strings.Repeat("x", 255) + "'" + maxKey + "7f",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := unhex(t, test.want)
			got, err := subscription.AppendHello([]byte{0xee}, test.hello)
			if err != nil || !bytes.Equal(got, append([]byte{0xee}, want...)) {
				t.Fatalf("got %x, %v want ee%x", got, err, want)
			}
			back, err := subscription.DecodeHello(want)
			if diff := cmp.Diff(test.hello, back); err != nil || diff != "" {
				t.Errorf("decoded: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDecodeHello_readsWhatOtherEncodersWrite(t *testing.T) {
	want := subscription.Hello{Instance: "i", Name: "n", PID: 7, MaxMessageBytes: 300}
	tests := []struct {
		name  string
		input string
	}{
		{"fields in another order", "84" + maxKey + "cd012c" + pidKey + "07" + nameKey + "a1'n'" + instanceKey + "a1'i'"},
		{"numbers in eight bytes", "84" + instanceKey + "a1'i'" + nameKey + "a1'n'" + pidKey + "cf0000000000000007" + maxKey + "cf000000000000012c"},
		{"signed numbers", "84" + instanceKey + "a1'i'" + nameKey + "a1'n'" + pidKey + "d007" + maxKey + "d1012c"},
		{"long forms of lengths", "de0004" + "d908'instance'" + "da0001'i'" + "db00000004'name'" + "d901'n'" + pidKey + "d200000007" + maxKey + "d3000000000000012c"},
		{"empty texts written out", "df00000006" + instanceKey + "a1'i'" + expectKey + "a0" + nameKey + "a1'n'" + hostKey + "d900" + pidKey + "07" + maxKey + "cd012c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := subscription.DecodeHello(unhex(t, helloV1+test.input))
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("got %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestDecodeHello_recognisesStrangers(t *testing.T) {
	tests := []struct {
		name  string
		input string
	}{
		{"nothing", ""},
		{"a shorter magic", "'TAGBU'"},
		{"a magic without a version", "'TAGBUS'01"},
		{"another case", "'tagbus'0100 80"},
		{"HTTP", "'GET / HTTP/1.1'0d0a'Host: a'0d0a0d0a"},
		{"the beginning of HTTP/2", "'PRI * HTTP/2.0'0d0a0d0a'SM'0d0a0d0a"},
		{"a TLS hello", "16030100ba010000b60303 a1b2c3d4e5f60718293a4b5c"},
		{"SSH", "'SSH-2.0-OpenSSH_9.2'0d0a"},
		{"zeros", strings.Repeat("00", 64)},
		{"random bytes", "9c4f1be2703d88a6515ec7f00b2d94e8"},
		{"a control message", "11 81 a2'id'01"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := subscription.DecodeHello(unhex(t, test.input))
			if !errors.Is(err, subscription.ErrMagic) || got != (subscription.Hello{}) {
				t.Errorf("got %v, %v want ErrMagic", got, err)
			}
		})
	}
}

func TestDecodeHello_namesAnotherVersion(t *testing.T) {
	tests := []struct {
		name  string
		input string
		want  subscription.VersionError
		text  string
	}{
		{
			"a newer peer", "'TAGBUS'0200 c1",
			subscription.VersionError{Got: 2, Want: 1},
			"subscription: peer speaks protocol version 2, this program version 1: upgrade this program",
		},
		{
			"an older peer", "'TAGBUS'0000",
			subscription.VersionError{Got: 0, Want: 1},
			"subscription: peer speaks protocol version 0, this program version 1: upgrade the peer",
		},
		{
			"the version is little-endian", "'TAGBUS'0001",
			subscription.VersionError{Got: 256, Want: 1},
			"subscription: peer speaks protocol version 256, this program version 1: upgrade this program",
		},
		{
			"a newer peer with a longer hello", "'TAGBUS'ffff" + strings.Repeat("c1", 5000),
			subscription.VersionError{Got: 65535, Want: 1},
			"subscription: peer speaks protocol version 65535, this program version 1: upgrade this program",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := subscription.DecodeHello(unhex(t, test.input))
			var got *subscription.VersionError
			if !errors.As(err, &got) || *got != test.want || err.Error() != test.text {
				t.Errorf("got %v, want %s", err, test.text)
			}
		})
	}
}

func TestDecodeHello_refusesBadHellos(t *testing.T) {
	long := "da0100'" + strings.Repeat("x", 256) + "'"
	tests := []struct {
		name  string
		input string
		want  string
	}{
		{"no map", "", "at byte 0 of the map: cut off, want the map"},
		{"no instance", "81" + maxKey + "00", `field "instance" is missing`},
		{"an empty instance", "82" + instanceKey + "a0" + maxKey + "00", "instance is empty"},
		{"no largest message", "81" + instanceKey + "a1'i'", `field "max_message_bytes" is missing`},
		{"an unknown field", "83" + instanceKey + "a1'i'" + maxKey + "00 a3'new'01", `unknown field "new"`},
		{"an unknown field with a long name", "81" + long + "01", `unknown field "` + strings.Repeat("x", 32) + `"`},
		{"a field given twice", "83" + instanceKey + "a1'i'" + instanceKey + "a1'j'" + maxKey + "00", `field "instance" given twice`},
		{"a byte after the end", "82" + instanceKey + "a1'i'" + maxKey + "00 00", "at byte 31 of the map: 1 bytes after the end"},
		{"a long instance", "82" + instanceKey + long + maxKey + "00", "subscription: longer than the limit: instance has 256 bytes, limit 255"},
		{"a long name", "83" + instanceKey + "a1'i'" + nameKey + long + maxKey + "00", "subscription: longer than the limit: name has 256 bytes, limit 255"},
		{"a negative pid", "83" + instanceKey + "a1'i'" + pidKey + "ff" + maxKey + "00", "at byte 16 of the map: pid is negative"},
		{"a pid above 63 bits", "83" + instanceKey + "a1'i'" + pidKey + "cf8000000000000000" + maxKey + "00", fmt.Sprintf("at byte 16 of the map: pid is 9223372036854775808, limit %d", math.MaxInt)},
		{"a negative largest message", "82" + instanceKey + "a1'i'" + maxKey + "d2ffffffff", "at byte 30 of the map: max_message_bytes is negative"},
		{"a negative time between beats", "83" + instanceKey + "a1'i'" + maxKey + "00" + beatKey + "ff", "at byte 39 of the map: beat_ms is negative"},
		{"more than an hour between beats", "83" + instanceKey + "a1'i'" + maxKey + "00" + beatKey + "ce0036ee81", "beat_ms is 3600001, limit 3600000"},
		{"a text of bytes", "82" + instanceKey + "c401'i'" + maxKey + "00", "at byte 10 of the map: msgpack code 0xc4, want the instance"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := subscription.DecodeHello(unhex(t, helloV1+test.input))
			want := "subscription: bad hello message: " + test.want
			var control *subscription.ControlError
			if !errors.As(err, &control) || control.Kind != subscription.KindHello || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

func TestDecodeHello_refusesAHelloAboveTheLimit(t *testing.T) {
	b := append(unhex(t, smallHello), make([]byte, subscription.MaxHelloBytes)...)
	_, err := subscription.DecodeHello(b[:subscription.MaxHelloBytes+1])
	if !errors.Is(err, subscription.ErrTooLong) {
		t.Errorf("one byte above the limit: got %v, want ErrTooLong", err)
	}
	if _, err = subscription.DecodeHello(b[:subscription.MaxHelloBytes]); err == nil || errors.Is(err, subscription.ErrTooLong) {
		t.Errorf("at the limit: got %v, want an error for the bytes after the end", err)
	}
}

func TestAppendHello_theLargestFitsTheLimit(t *testing.T) {
	text := strings.Repeat("x", 255)
	b, err := subscription.AppendHello(nil, subscription.Hello{
		Instance: text, Expect: text, Role: text, Name: text, Host: text, PID: math.MaxInt, MaxMessageBytes: math.MaxInt, BeatMillis: subscription.MaxBeatMillis,
	})
	if err != nil || len(b) > subscription.MaxHelloBytes {
		t.Errorf("got %d bytes, %v want at most %d", len(b), err, subscription.MaxHelloBytes)
	}
}

func TestAppendHello_refusesWhatDecodeHelloWould(t *testing.T) {
	long := strings.Repeat("x", 256)
	tests := []struct {
		name  string
		hello subscription.Hello
		long  bool
	}{
		{"no instance", subscription.Hello{}, false},
		{"a long instance", subscription.Hello{Instance: long}, true},
		{"a long expect", subscription.Hello{Instance: "i", Expect: long}, true},
		{"a long role", subscription.Hello{Instance: "i", Role: long}, true},
		{"a long name", subscription.Hello{Instance: "i", Name: long}, true},
		{"a long host", subscription.Hello{Instance: "i", Host: long}, true},
		{"a negative pid", subscription.Hello{Instance: "i", PID: -1}, false},
		{"a negative largest message", subscription.Hello{Instance: "i", MaxMessageBytes: -1}, false},
		{"a negative time between beats", subscription.Hello{Instance: "i", BeatMillis: -1}, false},
		{"more than an hour between beats", subscription.Hello{Instance: "i", BeatMillis: subscription.MaxBeatMillis + 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := subscription.AppendHello([]byte("before"), test.hello)
			var control *subscription.ControlError
			if !errors.As(err, &control) || errors.Is(err, subscription.ErrTooLong) != test.long || string(b) != "before" {
				t.Errorf("got %q, %v want a ControlError, too long: %v", b, err, test.long)
			}
		})
	}
}

func FuzzHello(f *testing.F) {
	for _, s := range []string{
		smallHello, helloV1 + "80", helloV1 + "c0", helloV1 + "dfffffffff", "'TAGBUS'0200", "'GET / HTTP/1.1'",
		helloV1 + "82" + instanceKey + "dbffffffff" + maxKey + "00",
		helloV1 + "86" + instanceKey + "a1'i'" + expectKey + "a1'j'" + nameKey + "a0" + hostKey + "a1'h'" + pidKey + "cd1267" + maxKey + "ce00100000",
		helloV1 + "83" + instanceKey + "a1'i'" + maxKey + "00" + beatKey + "cd07d0",
	} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h subscription.Hello
		var err error
		if n, limit := allocated(func() { h, err = subscription.DecodeHello(b) }), allocationLimit(b); n > limit {
			t.Errorf("got %d bytes allocated for %d bytes, want at most %d", n, len(b), limit)
		}
		if err != nil {
			_ = fmt.Sprint(err)
			return
		}
		again, err := subscription.AppendHello(nil, h)
		if err != nil {
			t.Fatalf("accepted %x, but does not encode it: %v", b, err)
		}
		back, err := subscription.DecodeHello(again)
		if diff := cmp.Diff(h, back); err != nil || diff != "" {
			t.Errorf("%x comes back differently: %v (-first +second):\n%s", b, err, diff)
		}
	})
}
