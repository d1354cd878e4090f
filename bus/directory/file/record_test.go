// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/tags"
)

var update = flag.Bool("update", false, "write the golden file")

const maxTagParts = 1 << 18

// TestDirectory_goldenFile fixes the format: a change of these bytes needs a new format
// number.
func TestDirectory_goldenFile(t *testing.T) {
	testGolden(t, "golden.jsonl", "")
	testGolden(t, "proof.jsonl", "proof of an entry\x00\xff")
}

func testGolden(t *testing.T, name, proof string) {
	t.Helper()
	set, err := tags.ParseSet("0x1000013000118000-0x100001300011800f,0x1000013000190000,0x0&0xff00")
	if err != nil {
		t.Fatal(err)
	}
	e := entry("Yr5WtNXHCZ3zXmCHsLzGTk")
	e.Tags, e.Proof = set, []byte(proof)
	got, err := file.Encode(e, 3, time.Second, file.Process{Space: "boot/1/2", PID: 4711, Start: 9}, 42)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		write(t, "testdata", name, got)
	}
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("got other bytes than the golden file (-want +got):\n%s", diff)
	}
	if file.BeatBytes != 70 {
		t.Errorf("got a beat line of %d bytes, want 70 as documented", file.BeatBytes)
	}
	d, err := file.Decode(want, maxTagParts)
	if err != nil || !d.Entry.Equal(e) || d.Revision != 3 || d.Count != 42 || d.Beat != time.Second || d.Process.Start != 9 {
		t.Errorf("got %+v, %v, want what was encoded", d, err)
	}
}

// TestDirectory_Announce_writesOnlyOtherRoles keeps the files of publishers as they were before
// there were roles.
func TestDirectory_Announce_writesOnlyOtherRoles(t *testing.T) {
	for _, role := range []directory.Role{directory.Publisher, directory.Receiver, "recorder"} {
		e := entry("a", 1)
		e.Role = role
		data := encode(t, e)
		if written := bytes.Contains(data, []byte(`"role"`)); written != (role != directory.Publisher) {
			t.Errorf("role %q: got it written: %t", role, written)
		}
		if d, err := file.Decode(data, maxTagParts); err != nil || d.Entry.Role != role {
			t.Errorf("role %q: got %q, %v", role, d.Entry.Role, err)
		}
	}
}

// TestDirectory_Announce_onlyCopiesNameAMirror keeps the files of publishers as they were before there were
// mirrors.
func TestDirectory_Announce_onlyCopiesNameAMirror(t *testing.T) {
	for _, mirror := range []string{"", "m1"} {
		e := entry("a", 1)
		e.Mirror = mirror
		data := encode(t, e)
		if written := bytes.Contains(data, []byte(`"mirror"`)); written != (mirror != "") {
			t.Errorf("mirror %q: got it written: %t", mirror, written)
		}
		if d, err := file.Decode(data, maxTagParts); err != nil || d.Entry.Mirror != mirror {
			t.Errorf("mirror %q: got %q, %v", mirror, d.Entry.Mirror, err)
		}
	}
}

// TestDirectory_Announce_writesAMonitorIfThereIsOne keeps the files of others as they were.
func TestDirectory_Announce_writesAMonitorIfThereIsOne(t *testing.T) {
	for _, monitor := range []netip.AddrPort{{}, netip.MustParseAddrPort("10.0.0.1:9100"), netip.MustParseAddrPort("[fe80::1%eth0]:9100")} {
		e := entry("a", 1)
		e.Monitor = monitor
		data := encode(t, e)
		if written := bytes.Contains(data, []byte(`"monitor"`)); written != monitor.IsValid() {
			t.Errorf("monitor %v: got it written: %t", monitor, written)
		}
		if d, err := file.Decode(data, maxTagParts); err != nil || !d.Entry.Equal(e) {
			t.Errorf("monitor %v: got %+v, %v", monitor, d.Entry, err)
		}
	}
}

// seal returns the lines with right end and beat lines.
func seal(lines ...string) []byte {
	body := strings.Join(lines, "\n") + "\n"
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	sum := crc32.Checksum([]byte(body), castagnoli)
	beat := crc32.Checksum(fmt.Appendf(nil, "%08x%016x%08x", sum, 1, 1), castagnoli)
	return fmt.Appendf(nil, "%s{\"lines\":%d,\"crc32c\":\"%08x\"}\n{\"beat\":\"%016x\",\"revision\":\"%08x\",\"crc32c\":\"%08x\"}\n",
		body, len(lines), sum, 1, 1, beat)
}

const goodHeader = `{"tagbus_directory":1,"revision":1,"instance":"a","backend":"tcp","addresses":["127.0.0.1:1"],"page_bytes":1,"max_message_bytes":1}`

func TestDirectory_decode(t *testing.T) {
	good := encode(t, entry("a", 1, 5, 9))
	flipped := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"a good file", good, nil},
		{"a file without optional fields and tags", seal(goodHeader), nil},
		{"a field that is not known", seal(strings.Replace(goodHeader, "{", `{"new":[1],`, 1)), nil},
		{"tags in two lines that overlap", seal(goodHeader, `{"tags":"1-5"}`, `{"tags":"4-9"}`), nil},
		{"an empty file", nil, file.ErrDamaged},
		{"a newline", []byte("\n"), file.ErrDamaged},
		{"zeros", make([]byte, 4096), file.ErrDamaged},
		{"text", []byte("hello\nworld\n"), file.ErrDamaged},
		{"other JSON", []byte("{}\n[]\n"), file.ErrDamaged},
		{"format 2", []byte(`{"tagbus_directory":2,"anything":true}` + "\nrest"), file.ErrVersion},
		{"format 0", seal(strings.Replace(goodHeader, `y":1`, `y":0`, 1)), file.ErrDamaged},
		{"a format that is text", seal(strings.Replace(goodHeader, `y":1`, `y":"1"`, 1)), file.ErrDamaged},
		{"a header alone", []byte(goodHeader + "\n"), file.ErrDamaged},
		{"a header that is too long", seal(strings.Replace(goodHeader, "{", `{"pad":"`+strings.Repeat("x", 64<<10)+`",`, 1)), file.ErrDamaged},
		{"the second half", good[len(good)/2:], file.ErrDamaged},
		{"the file twice", append(bytes.Clone(good), good...), file.ErrDamaged},
		{"a byte more", append(bytes.Clone(good), '\n'), file.ErrDamaged},
		{"no tag line where one was", bytes.Replace(good, []byte("{\"tags\""), []byte("{\"tagz\""), 1), file.ErrDamaged},
		{"a wrong address", seal(strings.Replace(goodHeader, "127.0.0.1:1", "localhost", 1)), file.ErrDamaged},
		{"an invalid entry", seal(strings.Replace(goodHeader, "127.0.0.1:1", "0.0.0.0:1", 1)), directory.ErrInvalidEntry},
		{"a wrong monitor", seal(strings.Replace(goodHeader, "{", `{"monitor":"localhost",`, 1)), file.ErrDamaged},
		{"a monitor that cannot be dialed", seal(strings.Replace(goodHeader, "{", `{"monitor":"0.0.0.0:1",`, 1)), directory.ErrInvalidEntry},
		{"a wrong tag", seal(goodHeader, `{"tags":"1,x"}`), file.ErrDamaged},
		{"a tag line that is no JSON", seal(goodHeader, `tags`), file.ErrDamaged},
		{"an empty line", seal(goodHeader, ``), file.ErrDamaged},
		{"a beat interval of a year", seal(strings.Replace(goodHeader, "{", `{"beat_ms":31536000000,`, 1)), file.ErrDamaged},
		{"a negative beat interval", seal(strings.Replace(goodHeader, "{", `{"beat_ms":-1,`, 1)), file.ErrDamaged},
		{"another revision in the beat line", seal(strings.Replace(goodHeader, `revision":1`, `revision":2`, 1)), file.ErrDamaged},
		{"more tags than allowed", seal(goodHeader, `{"tags":"`+strings.Repeat("1,", maxTagParts)+`1"}`), file.ErrTooManyTags},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := file.Decode(test.data, maxTagParts); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	t.Run("truncated anywhere", func(t *testing.T) {
		for n := range len(good) {
			if _, err := file.Decode(good[:n], maxTagParts); !errors.Is(err, file.ErrDamaged) {
				t.Errorf("got %v for the first %d bytes, want ErrDamaged", err, n)
			}
		}
	})
	t.Run("any bit flipped", func(t *testing.T) {
		for at := range good {
			if _, err := file.Decode(flipped(at), maxTagParts); err == nil {
				t.Errorf("got nil for a flip in byte %d, want an error", at)
			}
		}
	})
}

// TestDirectory_decodeAllocatesLittle gives decode files that promise much.
func TestDirectory_decodeAllocatesLittle(t *testing.T) {
	tests := []struct {
		name string
		data []byte
	}{
		{"8 MiB of zeros", make([]byte, 8<<20)},
		{"a header of 8 MiB", []byte(`{"tagbus_directory":1,"addresses":[` + strings.Repeat(`"1.1.1.1:1",`, 600_000) + "\n")},
		{"4 million tags of two bytes", seal(goodHeader, `{"tags":"`+strings.Repeat("1,", 4<<20)+`1"}`)},
		{"8 MiB of open brackets", bytes.Repeat([]byte("["), 8<<20)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := file.Decode(test.data, maxTagParts)
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; err == nil || got > 1<<20 {
				t.Errorf("got %d bytes allocated and %v, want at most 1 MiB and an error", got, err)
			}
		})
	}
}

func TestDirectory_manyTagsGoOnManyLines(t *testing.T) {
	e := entry("a")
	all := make([]tags.Tag, 100_000)
	for i := range all {
		all[i] = tags.Tag(i) * 3 << 20
	}
	e.Tags = tags.Of(all...)
	data := encode(t, e)
	for line := range bytes.Lines(data) {
		if len(line) > 5000 {
			t.Fatalf("got a line of %d bytes, want at most 5000", len(line))
		}
	}
	d, err := file.Decode(data, maxTagParts)
	if err != nil || !d.Entry.Equal(e) {
		t.Errorf("got %d tag parts, %v, want all %d tags back", d.Entry.Tags.Parts(), err, len(all))
	}
	folder := t.TempDir()
	announce(t, open(t, folder, manual), e)
	entries, err := open(t, folder, manual).List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(e) {
		t.Errorf("got %d entries, %v, want the announced one", len(entries), err)
	}
}

func TestDirectory_Announce_refusesEntriesBeyondTheCaps(t *testing.T) {
	config := manual
	config.MaxFileBytes, config.MaxTagParts = 2000, 20
	d := open(t, t.TempDir(), config)
	many := make([]tags.Tag, 21)
	for i := range many {
		many[i] = tags.Tag(i * 2)
	}
	if _, err := d.Announce(entry("a", many...)); !errors.Is(err, file.ErrTooManyTags) {
		t.Errorf("got %v, want ErrTooManyTags", err)
	}
	big := entry("a")
	big.Name, big.Host, big.Backend = strings.Repeat("\\", 255), strings.Repeat("\\", 255), strings.Repeat("\\", 255)
	big.Addresses = append(big.Addresses, big.Addresses...)
	big.Addresses = append(big.Addresses, big.Addresses...)
	big.Addresses = append(big.Addresses, big.Addresses...)
	big.Addresses = append(big.Addresses, big.Addresses...)
	if _, err := d.Announce(big); !errors.Is(err, file.ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	a := announce(t, d, entry("a", 1))
	if err := a.Update(entry("a", many...)); !errors.Is(err, file.ErrTooManyTags) {
		t.Errorf("got %v from Update, want ErrTooManyTags", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 1)) {
		t.Errorf("got %v, %v, want the entry before the update", entries, err)
	}
}

func FuzzDirectoryFile(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "golden.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(encode(f, entry("a", 1, 5, 9)))
	f.Add(seal(goodHeader, `{"tags":"1-5,7"}`, `{"tags":"1/0/19/*/*/*/0/*/*"}`))
	f.Add(seal(strings.Replace(goodHeader, "{", `{"new":{"a":[1]},`, 1)))
	f.Add([]byte(`{"tagbus_directory":2}` + "\n"))
	f.Add([]byte(goodHeader + "\n" + `{"tags":"1"}`)) // the fuzzer cannot find a CRC: sealed below
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, seal(strings.Split(string(data), "\n")...)} {
			d, err := file.Decode(data, 1000)
			if err != nil {
				if strings.ContainsAny(err.Error(), "\x1b\x00") {
					t.Fatalf("got error %q, want one that is safe to print", err)
				}
				continue
			}
			again, err := file.Encode(d.Entry, d.Revision, d.Beat, d.Process, d.Count)
			if err != nil {
				t.Fatalf("got %v from encoding %+v, want nil", err, d)
			}
			e, err := file.Decode(again, 1000)
			if err != nil || !e.Entry.Equal(d.Entry) || e.Revision != d.Revision || e.Beat != d.Beat || e.Process != d.Process || e.Count != d.Count {
				t.Fatalf("got %+v, %v after another round, want %+v", e, err, d)
			}
		}
	})
}
