// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// parts returns the parts of a recording, each of some records.
func parts(tb testing.TB, n int, all []recording.Record) (files [][]byte) {
	tb.Helper()
	buffers := make([]bytes.Buffer, n)
	w, err := recording.NewWriter(&buffers[0], recording.Header{}, recording.Config{BlockBytes: 300})
	must(tb, err)
	for i := range n {
		if i > 0 {
			must(tb, w.Rotate(&buffers[i]))
		}
		write(tb, w, all[i*len(all)/n:(i+1)*len(all)/n]...)
	}
	must(tb, w.Close())
	for i := range buffers {
		files = append(files, buffers[i].Bytes())
	}
	return files
}

// TestReaders_severalRecordingsInTheOrderOfTime merges recordings in parts with a simple
// sort.
func TestReaders_severalRecordingsInTheOrderOfTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var readers recording.Readers
		var want []record
		for i := range rapid.IntRange(1, 4).Draw(rt, "recordings") {
			us := 0
			var all []recording.Record
			for n := range rapid.IntRange(0, 60).Draw(rt, "messages") {
				us += rapid.IntRange(0, 5).Draw(rt, "us")
				all = append(all, message(us, alice, tags.Tag(i), uint64(n+1), "some data"))
			}
			for _, b := range parts(t, rapid.IntRange(1, 3).Draw(rt, "parts"), all) {
				readers = append(readers, open(t, b))
			}
			want = append(want, forms(all...)...)
		}
		slices.SortStableFunc(want, func(a, b record) int { return cmp.Compare(a.ns, b.ns) })
		// Recordings keep their order. The parts come in any.
		groups := readers.Recordings()
		readers = nil
		for _, g := range groups {
			readers = append(readers, rapid.Permutation(g).Draw(rt, "order")...)
		}
		if got := readAll(t, readers...); !slices.Equal(got, want) {
			rt.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestReaders_thePartsOfARecordingFollowEachOther even if the clock was set back between them.
func TestReaders_thePartsOfARecordingFollowEachOther(t *testing.T) {
	all := []recording.Record{message(100, alice, 1, 1, ""), message(200, alice, 1, 2, ""), message(50, alice, 1, 3, ""), message(60, alice, 1, 4, "")}
	var readers recording.Readers
	for _, b := range parts(t, 2, all) {
		readers = append(readers, open(t, b))
	}
	if got := readAll(t, readers...); !slices.Equal(got, forms(all...)) {
		t.Errorf("got %v, want %v", got, forms(all...))
	}
	other := message(70, bob, 1, 1, "")
	readers = append(readers, open(t, file(t, recording.Header{}, recording.Config{}, other)))
	want := forms(other, all[0], all[1], all[2], all[3])
	if got := readAll(t, readers...); !slices.Equal(got, want) {
		t.Errorf("with another recording: got %v, want %v", got, want)
	}
}

func TestReaders_aMergeGoesOnBehindDamage(t *testing.T) {
	a, b := numbered(30), numbered(30)
	first := file(t, recording.Header{}, recording.Config{BlockBytes: 300}, a...)
	first[len(first)/2]++
	readers := recording.Readers{open(t, first), open(t, file(t, recording.Header{}, recording.Config{}, b...))}
	got, errs := read(readers, recording.Query{})
	if len(errs) != 1 || !errors.Is(errs[0], recording.ErrChecksum) || len(got) <= len(b) || len(got) >= len(a)+len(b) {
		t.Errorf("got %d records and errors %v, want all less a block, and %v", len(got), errs, recording.ErrChecksum)
	}
	n := 0
	for _, err := range readers.Messages(recording.Query{}) {
		must(t, err)
		if n++; n == 7 {
			break
		}
	}
}

func TestOpenAll_opensFilesTogether(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	all := numbered(40)
	for i, b := range parts(t, 2, all) {
		paths = append(paths, filepath.Join(dir, string(rune('a'+i))))
		must(t, os.WriteFile(paths[i], b, 0o600))
	}
	readers, err := recording.OpenAll(paths...)
	must(t, err)
	if got := readAll(t, readers...); !slices.Equal(got, forms(all...)) {
		t.Errorf("got %d records, want %d", len(got), len(all))
	}
	seen := make(map[*bus.Peer]bool)
	for m, err := range readers.Messages(recording.Query{}) {
		must(t, err)
		seen[m.Publisher] = true
	}
	if len(seen) != 2 || readers[1].Info().File != paths[1] {
		t.Errorf("got %d publishers, and a file %q; want 2 and %q", len(seen), readers[1].Info().File, paths[1])
	}
	must(t, readers.Close())
	if err := readers.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed again: got error %v, want %v", err, fs.ErrClosed)
	}
	if _, err := recording.OpenAll(paths[0], filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got error %v, want %v", err, fs.ErrNotExist)
	}
	must(t, os.WriteFile(paths[1], []byte("something else"), 0o600))
	if _, err := recording.OpenAll(paths...); !errors.Is(err, recording.ErrNotRecording) {
		t.Errorf("got error %v, want %v", err, recording.ErrNotRecording)
	}
}

// TestReaders_haveOnePointerToAPublisher, also those that were not opened together.
func TestReaders_haveOnePointerToAPublisher(t *testing.T) {
	var readers recording.Readers
	for _, b := range parts(t, 2, numbered(40)) {
		readers = append(readers, open(t, b))
	}
	seen := make(map[*bus.Peer]bool)
	for m, err := range readers.Messages(recording.Query{}) {
		must(t, err)
		seen[m.Publisher] = true
	}
	series, err := readers.Series()
	must(t, err)
	if len(seen) != 2 || len(series) != 6 {
		t.Errorf("got %d publishers and %d series, want 2 of 3 tags each", len(seen), len(series))
	}
}

// TestReader_endsWithItsContext: what is left of the file is not read.
func TestReader_endsWithItsContext(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	b := file(t, recording.Header{}, recording.Config{BlockBytes: 300}, numbered(40)...)
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), recording.ReaderConfig{Context: ctx})
	must(t, err)
	n := 0
	for _, err := range r.Messages(recording.Query{}) {
		if n++; n == 1 {
			cancel(stopped)
		}
		if damage := (*recording.DamageError)(nil); err != nil && (!errors.As(err, &damage) || !errors.Is(err, stopped)) {
			t.Errorf("got %v, want the cause", err)
		}
	}
	if n == 0 || n >= 40 {
		t.Errorf("got %d messages and errors, want the first block and an error for each other", n)
	}
	if _, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), recording.ReaderConfig{Context: ctx}); !errors.Is(err, stopped) {
		t.Errorf("got error %v, want %v", err, stopped)
	}
}

// TestReaders_Series_areThoseOfTheMessages compares what the tables say with the messages.
func TestReaders_Series_areThoseOfTheMessages(t *testing.T) {
	all := numbered(200)
	var readers recording.Readers
	for _, b := range parts(t, 3, all) {
		readers = append(readers, open(t, b))
	}
	type key struct {
		name string
		tag  tags.Tag
	}
	type sum struct{ messages, bytes uint64 }
	want, last := make(map[key]sum), make(map[key]time.Time)
	for _, r := range all {
		k := key{r.Publisher.Name, r.Tag}
		want[k] = sum{want[k].messages + 1, want[k].bytes + uint64(len(r.Data))}
		last[k] = r.Time
	}
	latest := make(map[key]time.Time)
	series, err := readers.Series()
	must(t, err)
	got := make(map[key]sum)
	for _, s := range series {
		// Several pointers: these files were not opened together.
		k := key{s.Publisher.Name, s.Tag}
		got[k] = sum{got[k].messages + s.Messages, got[k].bytes + s.Bytes}
		if s.Last.After(latest[k]) {
			latest[k] = s.Last
		}
		if s.First.Before(all[0].Time) || s.Last.After(all[len(all)-1].Time) || s.Last.Before(s.First) {
			t.Errorf("tag %v of %v: got the times %v to %v", s.Tag, s.Publisher, s.First, s.Last)
		}
	}
	for k, w := range want {
		if got[k] != w {
			t.Errorf("tag %v of %s: got %+v, want %+v", k.tag, k.name, got[k], w)
		}
		if latest[k].Before(last[k]) {
			t.Errorf("tag %v of %s: got %v as the latest time, and a message at %v", k.tag, k.name, latest[k], last[k])
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d series, want %d", len(got), len(want))
	}
}

// TestNewReader_refusesPipesAndDevices: their size is 0, whatever comes out of them.
func TestNewReader_refusesPipesAndDevices(t *testing.T) {
	out, in, err := os.Pipe()
	must(t, err)
	defer func() { must(t, errors.Join(out.Close(), in.Close())) }()
	if _, err := recording.NewReader(out, 0, recording.ReaderConfig{Name: "pipe"}); !errors.Is(err, recording.ErrNotFile) || !strings.Contains(err.Error(), "recording: pipe: ") {
		t.Errorf("a pipe: got %v, want %v", err, recording.ErrNotFile)
	}
	if _, err := recording.Open(os.DevNull); !errors.Is(err, recording.ErrNotFile) {
		t.Errorf("a device: got %v, want %v", err, recording.ErrNotFile)
	}
	if _, err := recording.Open(t.TempDir()); err == nil || errors.Is(err, recording.ErrNotFile) {
		t.Errorf("a folder: got %v, want the error of reading it", err)
	}
}
