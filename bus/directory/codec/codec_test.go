// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/tags"
)

var update = flag.Bool("update", false, "write the golden files")

// full returns an entry with all fields set.
func full(tb testing.TB, set string) directory.Entry {
	tb.Helper()
	e := directorytest.Entry("Yr5WtNXHCZ3zXmCHsLzGTk")
	e.Role = directory.Receiver
	e.Since = time.Date(2026, 11, 24, 12, 0, 0, 7, time.UTC)
	e.Monitor = netip.MustParseAddrPort("[2001:db8::7]:9100")
	var err error
	if e.Tags, err = tags.ParseSet(set); err != nil {
		tb.Fatal(err)
	}
	return e
}

// lattice returns n tags, each 16 from the next.
func lattice(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = 0x1000013000000000 + tags.Tag(i)*16
	}
	return tags.Of(list...)
}

func encode(tb testing.TB, e directory.Entry) []byte {
	tb.Helper()
	data, err := codec.Append(nil, e)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestDecode_theProofOfWays is read as it was written.
func TestDecode_theProofOfWays(t *testing.T) {
	e := full(t, "0x7")
	e.Ways = []directory.Way{{Backend: "shm", Addresses: e.Addresses[:1]}}
	e.WaysProof = []byte("proof of ways\x00\xff")
	data, err := codec.Append(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := codec.Decode(data); err != nil || !got.Equal(e) {
		t.Errorf("got %+v, %v, want %+v", got, err, e)
	}
}

// TestGoldenFiles fixes the format: programs of all versions read these bytes. Those of
// the compressed one may differ from what this version of Go writes.
func TestGoldenFiles(t *testing.T) {
	large := full(t, "")
	large.Tags = lattice(10_000)
	proven := full(t, "0x7")
	proven.Proof = []byte("proof of an entry\x00\xff")
	for _, test := range []struct {
		file   string
		entry  directory.Entry
		writes bool // always the same bytes
	}{
		{"plain.hex", full(t, "0x1000013000118000-0x100001300011800f,0x1000013000190000,0x0&0xff00"), true},
		{"minimal.hex", directory.Entry{
			Instance: "a", Backend: "tcp", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")}, PageBytes: 1, MaxMessageBytes: 1,
		}, true},
		{"compressed.hex", large, false},
		{"proof.hex", proven, true},
	} {
		t.Run(test.file, func(t *testing.T) {
			got := encode(t, test.entry)
			path := filepath.Join("testdata", test.file)
			if *update {
				if err := os.WriteFile(path, lines(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
			if err != nil {
				t.Fatal(err)
			}
			if test.writes && !bytes.Equal(got, want) {
				t.Errorf("got other bytes than the golden file:\n%s", lines(got))
			}
			if e, err := codec.Decode(want); err != nil || !e.Equal(test.entry) {
				t.Errorf("got %+v, %v, want %+v", e, err, test.entry)
			}
		})
	}
}

// lines returns hex in lines of 32 bytes.
func lines(data []byte) (text []byte) {
	for len(data) > 0 {
		n := min(32, len(data))
		text = append(hex.AppendEncode(text, data[:n]), '\n')
		data = data[n:]
	}
	return text
}

// section returns one section.
func section(kind byte, data string) string {
	return string(binary.AppendUvarint([]byte{kind}, uint64(len(data)))) + data
}

func deflated(tb testing.TB, body string) string {
	tb.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write([]byte(body)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

const (
	goodFields = `{"instance":"a","backend":"tcp","addresses":["127.0.0.1:1"],"page_bytes":1,"max_message_bytes":1}`
	noTags     = "\x01\x00\x00"
	plain      = "\x01\x00"
	compressed = "\x01\x01"
)

// manyTags returns the binary form of n tags that do not touch, and as many patterns.
func manyTags(n, patterns int) string {
	b := binary.AppendUvarint([]byte{1}, uint64(n))
	b = append(b, bytes.Repeat([]byte{0, 0}, n)...)
	b = binary.AppendUvarint(b, uint64(patterns))
	for i := range patterns { // the highest bit and a value of 32 others
		if i == 0 {
			b = binary.AppendUvarint(b, 1<<63|0xffffffff<<16)
			b = binary.AppendUvarint(b, 1<<63)
			continue
		}
		b = append(b, 0)
		b = binary.AppendUvarint(b, 0xffff)
	}
	return string(b)
}

func TestDecode(t *testing.T) {
	fields, set := section(1, goodFields), section(2, noTags)
	good := fields + set
	with := func(old, replacement string) string {
		return plain + section(1, strings.Replace(goodFields, old, replacement, 1)) + set
	}
	tests := []struct {
		name, data string
		want       error
	}{
		{"an entry", plain + good, nil},
		{"a compressed entry", compressed + deflated(t, good), nil},
		{"a field that is not known", with("{", `{"principal":"cn=felix",`), nil},
		{"a section that is not known", plain + good + section(128, "x"), nil},
		{"two, the last of which is the proof", plain + good + section(200, "") + section(255, "x"), nil},
		{"one of them compressed", compressed + deflated(t, good+section(255, strings.Repeat("x", 10_000))), nil},
		{"as many tags as allowed", plain + fields + section(2, manyTags(codec.MaxTagParts, 0)), nil},

		{"a section that must be known", plain + good + section(3, "x"), codec.ErrVersion},
		{"a section that must be known, the last of them", plain + good + section(127, ""), codec.ErrVersion},
		{"version 2", "\x02\x00" + good, codec.ErrVersion},
		{"version 0", "\x00\x00" + good, codec.ErrVersion},
		{"another compression", "\x01\x02" + good, codec.ErrVersion},
		{"nothing", "", codec.ErrDamaged},
		{"a version alone", "\x01", codec.ErrDamaged},
		{"no sections", plain, codec.ErrDamaged},
		{"compressed, no sections", compressed + deflated(t, ""), codec.ErrDamaged},
		{"compressed, nothing", compressed, codec.ErrDamaged},
		{"no fields", plain + set, codec.ErrDamaged},
		{"no tags", plain + fields, codec.ErrDamaged},
		{"fields twice", plain + fields + fields + set, codec.ErrDamaged},
		{"tags twice", plain + good + set, codec.ErrDamaged},
		{"an unknown section twice", plain + good + section(128, "") + section(128, ""), codec.ErrDamaged},
		{"tags first", plain + set + fields, codec.ErrDamaged},
		{"section 0", plain + section(0, "") + good, codec.ErrDamaged},
		{"a section longer than the data", plain + good + "\x80\x02x", codec.ErrDamaged},
		{"a section longer than memory", plain + good + "\x80\xff\xff\xff\xff\xff\xff\xff\xff\x7fx", codec.ErrDamaged},
		{"a section longer than 64 bits", plain + good + "\x80" + strings.Repeat("\xff", 11), codec.ErrDamaged},
		{"a section without length", plain + good + "\x80", codec.ErrDamaged},
		{"a byte behind the compressed ones", compressed + deflated(t, good) + "\x00", codec.ErrDamaged},
		{"two compressed entries", compressed + deflated(t, good) + deflated(t, good), codec.ErrDamaged},
		{"compressed bytes cut short", compressed + deflated(t, good)[:60], codec.ErrDamaged},
		{"compressed bytes that are none", compressed + "\xff\xff\xff\xff", codec.ErrDamaged},
		{"fields that are no object", plain + section(1, "[]") + set, codec.ErrDamaged},
		{"empty fields", plain + section(1, "") + set, codec.ErrDamaged},
		{"two objects", plain + section(1, goodFields+goodFields) + set, codec.ErrDamaged},
		{"a wrong address", with("127.0.0.1:1", "localhost"), codec.ErrDamaged},
		{"an entry that is not valid", with("127.0.0.1:1", "0.0.0.0:1"), directory.ErrInvalidEntry},
		{"a monitor that cannot be dialled", with("{", `{"monitor":"0.0.0.0:1",`), directory.ErrInvalidEntry},
		{"empty tags", plain + fields + section(2, ""), codec.ErrDamaged},
		{"a byte behind the tags", plain + fields + section(2, noTags+"\x00"), codec.ErrDamaged},
		{"more tags claimed than there are", plain + fields + section(2, "\x01\xff\xff\xff\xff\x0f\x00\x00"), codec.ErrDamaged},

		{"a tag too many", plain + fields + section(2, manyTags(codec.MaxTagParts+1, 0)), codec.ErrTooLarge},
		{"tags and patterns that are too many together", plain + fields + section(2, manyTags(codec.MaxTagParts-1, 2)), codec.ErrTooLarge},
		{"fields that are too long", with("{", `{"pad":"`+strings.Repeat("x", codec.MaxFieldBytes)+`",`), codec.ErrTooLarge},
		{"too many bytes", plain + good + section(128, strings.Repeat("x", codec.MaxBytes)), codec.ErrTooLarge},
		{"too many bytes, compressed", compressed + deflated(t, good+section(128, strings.Repeat("x", codec.MaxBytes))), codec.ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e, err := codec.Decode([]byte(test.data))
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if test.want == nil && e.Instance != "a" {
				t.Errorf("got %+v, want entry a", e)
			}
		})
	}
}

// TestDecodeTruncated: no part of an entry is an entry, and least of all one without tags.
func TestDecodeTruncated(t *testing.T) {
	large := full(t, "")
	large.Tags = lattice(10_000)
	for _, data := range [][]byte{encode(t, full(t, "1,5-7,0x0&0xff00")), encode(t, large)} {
		for n := range data {
			if _, err := codec.Decode(data[:n]); !errors.Is(err, codec.ErrDamaged) {
				t.Fatalf("got %v for the first %d of %d bytes, want ErrDamaged", err, n, len(data))
			}
		}
	}
}

// TestABombIsBounded: whatever compressed bytes become, Decode takes no more memory than
// entries of MaxBytes need.
func TestABombIsBounded(t *testing.T) {
	bomb := []byte(compressed + deflated(t, section(1, goodFields)+section(2, noTags)+section(255, strings.Repeat("\x00", 4*codec.MaxBytes))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := codec.Decode(bomb)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, codec.ErrTooLarge) {
		t.Errorf("got %v for %d bytes that become 32 MiB, want ErrTooLarge", err, len(bomb))
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 6*codec.MaxBytes {
		t.Errorf("got %d bytes allocated, want at most %d", got, 6*codec.MaxBytes)
	}
}

func TestAppend(t *testing.T) {
	t.Run("appends", func(t *testing.T) {
		for _, n := range []int{0, 10_000} {
			e := full(t, "")
			e.Tags = lattice(n)
			data, err := codec.Append([]byte("before"), e)
			if err != nil || !bytes.Equal(data, append([]byte("before"), encode(t, e)...)) {
				t.Errorf("%d tags: got %v, or other bytes than behind nothing", n, err)
			}
		}
	})
	t.Run("compresses what becomes shorter", func(t *testing.T) {
		regular, few := full(t, ""), full(t, "1-1000")
		regular.Tags = lattice(10_000)
		if got := encode(t, regular); got[1] != 1 || len(got) > 2000 {
			t.Errorf("got %d bytes, compressed: %d, for 10,000 regular tags", len(got), got[1])
		}
		if got := encode(t, few); got[1] != 0 {
			t.Errorf("got %d bytes compressed, want them plain", len(got))
		}
	})
	t.Run("refuses a tag too many", func(t *testing.T) {
		e := full(t, "")
		e.Tags = lattice(codec.MaxTagParts + 1)
		if data, err := codec.Append([]byte("before"), e); !errors.Is(err, codec.ErrTooLarge) || string(data) != "before" {
			t.Errorf("got %d bytes, %v, want those before and ErrTooLarge", len(data), err)
		}
		e.Tags = lattice(codec.MaxTagParts)
		if got, err := codec.Decode(encode(t, e)); err != nil || !got.Equal(e) {
			t.Errorf("got %v for as many tags as allowed", err)
		}
	})
	t.Run("leaves no link to the bytes", func(t *testing.T) {
		e := full(t, "1,5,9")
		data := encode(t, e)
		got, err := codec.Decode(data)
		clear(data)
		if err != nil || !got.Equal(e) {
			t.Errorf("got %+v, %v after the bytes were cleared, want %+v", got, err, e)
		}
	})
}

// TestTextOfStrangersIsEscaped: errors are shown on terminals.
func TestTextOfStrangersIsEscaped(t *testing.T) {
	for _, evil := range []string{`{"instance":"a","addresses":["\u001b]0;x"]}`, "{\x1b", `{"pid":"` + strings.Repeat("\x7f", 1000) + `"}`} {
		_, err := codec.Decode([]byte(plain + section(1, evil) + section(2, noTags)))
		if !errors.Is(err, codec.ErrDamaged) || strings.ContainsAny(err.Error(), "\x1b\x7f") || len(err.Error()) > 400 {
			t.Errorf("got %q", err)
		}
	}
}
