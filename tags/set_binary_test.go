// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	data, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// maxVarint is the varint of 2^64-1.
const maxVarint = "ffffffffffffffffff01"

func TestSet_MarshalBinary_bytes(t *testing.T) {
	tests := []struct {
		name string
		set  string
		want string
	}{
		{"nothing", "", "01 00 00"},
		{"everything", "*", "01 01 00" + maxVarint + "00"},
		{"the first tag", "0", "01 01 00 00 00"},
		{"the last tag", "18446744073709551615", "01 01" + maxVarint + "00 00"},
		{"a range and a tag one tag after it", "5-7,9", "01 02 05 02 00 00 00"},
		{"ranges up to the last tag", "0,2-0xffffffffffffffff", "01 02 00 00 00 fdffffffffffffffff01 00"},
		{"a detector's range", "0x1000013000118000-0x100001300011800f", "01 01 8080c68080a6808010 0f 00"},
		{"two patterns of one mask and one of another", "1&5,4&5,6&6", "01 00 03 05 01 00 02 01 06"},
		{"a range and a pattern", "2,1&1", "01 01 02 00 01 01 01"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mustParseSet(t, test.set)
			want := unhex(t, test.want)
			got, err := s.MarshalBinary()
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("got %x, %v want %x", got, err, want)
			}
			var back tags.Set
			if err := back.UnmarshalBinary(want); err != nil || !back.Equal(s) {
				t.Errorf("read back: got %q, %v want %q", back, err, s)
			}
			got, err = s.AppendBinary([]byte{0xee})
			if err != nil || !bytes.Equal(got, append([]byte{0xee}, want...)) {
				t.Errorf("appended: got %x, %v want ee%x", got, err, want)
			}
		})
	}
}

func TestSet_UnmarshalBinary_errors(t *testing.T) {
	tests := []struct {
		name  string
		input string
		want  tags.DecodeError
	}{
		{"no bytes", "", tags.DecodeError{Offset: 0, Reason: "no bytes where a set is wanted"}},
		{"another format", "02 00 00", tags.DecodeError{Offset: 0, Reason: "set format 2, want 1"}},
		{"no count of ranges", "01", tags.DecodeError{Offset: 1, Reason: "set is cut short"}},
		{"no count of patterns", "01 00", tags.DecodeError{Offset: 2, Reason: "set is cut short"}},
		{"a byte after the end", "01 00 00 00", tags.DecodeError{Offset: 3, Reason: "1 bytes after the set"}},
		{"more ranges than bytes", "01 ffffffff0f 00 00", tags.DecodeError{Offset: 1, Reason: "4294967295 ranges claimed, 2 bytes left"}},
		{"as many ranges as a number can say", "01" + maxVarint + "00 00", tags.DecodeError{Offset: 1, Reason: "18446744073709551615 ranges claimed, 2 bytes left"}},
		{"more patterns than bytes", "01 00 02 05 01 00", tags.DecodeError{Offset: 2, Reason: "2 patterns claimed, 3 bytes left"}},
		{"a range cut short", "01 01 80 80", tags.DecodeError{Offset: 4, Reason: "set is cut short"}},
		{"a count that is not the shortest", "01 8000 00", tags.DecodeError{Offset: 1, Reason: "varint is not the shortest"}},
		{"a first tag above 64 bits", "01 01 ffffffffffffffffff02 00 00", tags.DecodeError{Offset: 2, Reason: "varint above 64 bits"}},
		{"a varint of eleven bytes", "01 01 8080808080808080808001 00 00", tags.DecodeError{Offset: 2, Reason: "varint above 64 bits"}},
		{"a range past the last tag", "01 01 01" + maxVarint + "00", tags.DecodeError{Offset: 2, Reason: "range 0 runs past 2^64-1"}},
		{"a range that begins past the last tag", "01 02 05 00" + maxVarint + "00 00", tags.DecodeError{Offset: 4, Reason: "range 1 runs past 2^64-1"}},
		{"a range after the last tag", "01 02" + maxVarint + "00 00 00 00", tags.DecodeError{Offset: 13, Reason: "range 1 runs past 2^64-1"}},
		{"a range after the last tag but one", "01 02 feffffffffffffffff01 00 00 00 00", tags.DecodeError{Offset: 13, Reason: "range 1 runs past 2^64-1"}},
		{"a pattern open in all bits", "01 00 01 00 00", tags.DecodeError{Offset: 3, Reason: "pattern 0 is a range"}},
		{"a pattern of one tag", "01 00 01" + maxVarint + "05", tags.DecodeError{Offset: 3, Reason: "pattern 0 is a range"}},
		{"a pattern open in its low bits", "01 00 01 feffffffffffffffff01 02", tags.DecodeError{Offset: 3, Reason: "pattern 0 is a range"}},
		{"a value outside its mask", "01 00 01 05 02", tags.DecodeError{Offset: 3, Reason: "pattern 0 has value bits outside its mask"}},
		{"a mask past 64 bits", "01 00 02 05 01" + maxVarint + "00", tags.DecodeError{Offset: 5, Reason: "pattern 1 runs past 2^64-1"}},
		{"a value past 64 bits", "01 00 02 05 01 00" + maxVarint, tags.DecodeError{Offset: 5, Reason: "pattern 1 runs past 2^64-1"}},
		{"a pattern cut short", "01 00 01 05 80", tags.DecodeError{Offset: 5, Reason: "set is cut short"}},
		{"a pattern within everything", "01 01 00" + maxVarint + "01 05 01", tags.DecodeError{Offset: 14, Reason: "pattern 0 lies in a range of the set"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := tags.Of(7)
			err := s.UnmarshalBinary(unhex(t, test.input))
			var decode *tags.DecodeError
			if !errors.As(err, &decode) {
				t.Fatalf("got %q, %v (%T) want a *DecodeError", s, err, err)
			}
			if diff := cmp.Diff(test.want, *decode); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if !s.Equal(tags.Of(7)) {
				t.Errorf("the set changed to %q beside an error", s)
			}
		})
	}
}

func TestSet_UnmarshalBinary_refusesEveryPrefix(t *testing.T) {
	data, err := mustParseSet(t, "5-7,9,0x1000013000118000,1/0/19/*/*/*/0/*/*,1&5,4&5").MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		var s tags.Set
		var decode *tags.DecodeError
		if err := s.UnmarshalBinary(data[:n]); !errors.As(err, &decode) {
			t.Errorf("first %d of %d bytes: got %q, %v want a *DecodeError", n, len(data), s, err)
		}
	}
}

func TestSet_UnmarshalBinary_allocatesNoMoreThanWarranted(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	const size = 1 << 16
	tests := []struct {
		name string
		data []byte
	}{
		{"as many ranges as the bytes could hold", append(unhex(t, "01 ff ff 01"), make([]byte, size)...)},
		{"as many patterns as the bytes could hold", append(unhex(t, "01 00 ff ff 01"), make([]byte, size)...)},
		{"more ranges than the bytes could hold", append(unhex(t, "01 ff ff ff ff ff 01"), make([]byte, size)...)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			var s tags.Set
			runtime.ReadMemStats(&before)
			_ = s.UnmarshalBinary(test.data)
			runtime.ReadMemStats(&after)
			// 8 bytes for each byte, and some for the error and the rounding of the allocator.
			if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*len(test.data)+16<<10); got > limit {
				t.Errorf("got %d bytes allocated for %d bytes of input, want at most %d", got, len(test.data), limit)
			}
		})
	}
}

func FuzzSetBinary(f *testing.F) {
	for _, seed := range []string{
		"", "*", "0", "5-7,9", "0,2-0xffffffffffffffff", "0x1000013000118000-0x100001300011800f",
		"1&5,4&5,6&6", "1/0/19/*/*/*/0/*/*,1-2,5", "0xffffffffffffffff,0x8000000000000001&0x8000000000000001",
	} {
		data, err := mustParseSet(f, seed).MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(unhex(f, "01 ffffffff0f 00 00"))
	f.Add(unhex(f, "01 02 feffffffffffffffff01 00 00 00 00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s tags.Set
		if err := s.UnmarshalBinary(data); err != nil {
			var decode *tags.DecodeError
			if !errors.As(err, &decode) || decode.Offset < 0 || decode.Offset > len(data) {
				t.Fatalf("error of %x: got %T %v", data, err, err)
			}
			return
		}
		again, err := s.MarshalBinary()
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%x is %q, which is %x, %v", data, s, again, err)
		}
		if built := tags.Union(s); !built.Equal(s) {
			t.Fatalf("%x is %q, built again %q", data, s, built)
		}
		if read, err := tags.ParseSet(s.String()); err != nil || !read.Equal(s) {
			t.Fatalf("%x is %q, read again %q, %v", data, s, read, err)
		}
	})
}

func BenchmarkSetBinary(b *testing.B) {
	_, s := scattered(65536)
	data, err := s.MarshalBinary()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append/tags=65536", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		var buf []byte
		for b.Loop() {
			if buf, err = s.AppendBinary(buf[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unmarshal/tags=65536", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if err := s.UnmarshalBinary(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
