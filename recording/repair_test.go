// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/recording"
)

// onDisk writes a file of some bytes.
func onDisk(t *testing.T, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tbr")
	must(t, os.WriteFile(path, b, 0o600))
	return path
}

func TestRepair(t *testing.T) {
	records := numbered(200)
	whole := file(t, recording.Header{Name: "r"}, recording.Config{BlockBytes: 512}, records...)
	now := start.Add(time.Hour)
	for n := 0; n < len(whole)-48; n += 97 {
		path := onDisk(t, whole[:n])
		r, err := recording.Open(path)
		must(t, err)
		want := readAll(t, r)
		must(t, r.Close())
		before, err := recording.Repair(path, now)
		if n < 60 && errors.Is(err, recording.ErrMalformed) {
			continue // not even its header is there
		}
		must(t, err)
		r, err = recording.Open(path)
		must(t, err)
		got := readAll(t, r)
		last := got[len(got)-1]
		if !slices.Equal(got[:len(got)-1], want) || !last.failed || last.kind != recording.Stopped || !strings.Contains(last.text, "was not closed") {
			t.Fatalf("%d bytes: got %d records, the last %+v; want %d and Stopped", n, len(got), last, len(want))
		}
		report, err := recording.Verify(r)
		must(t, err)
		if !r.Info().Indexed || report.Whole() || before.Indexed {
			t.Fatalf("%d bytes: got indexed %v and whole %v, want an index of what is not whole", n, r.Info().Indexed, report.Whole())
		}
		must(t, r.Close())
	}
}

func TestRepairPassesOverADamagedHeader(t *testing.T) {
	whole := file(t, recording.Header{}, recording.Config{BlockBytes: 512}, numbered(200)...)
	second := strings.Index(string(whole[200:]), "TBRb") + 200
	second += strings.Index(string(whole[second+1:]), "TBRb") + 1
	whole[second+20] ^= 1
	path := onDisk(t, whole[:len(whole)-100])
	before, err := recording.Repair(path, start)
	must(t, err)
	b, err := os.ReadFile(path)
	must(t, err)
	indexed, walked := open(t, b), open(t, b[:len(b)-48])
	if before.Skipped == 0 || indexed.Info().Messages != before.Messages || !slices.Equal(readAll(t, indexed), readAll(t, walked)) {
		t.Errorf("got %+v, then %+v by the index and %+v without it; want the same, and bytes that were skipped", before, indexed.Info(), walked.Info())
	}
}

func TestRepairRefuses(t *testing.T) {
	whole := file(t, recording.Header{}, recording.Config{BlockBytes: 512}, numbered(100)...)
	path := onDisk(t, whole)
	if _, err := recording.Repair(path, start); !errors.Is(err, recording.ErrWhole) {
		t.Errorf("got %v of a file with index, want ErrWhole", err)
	}
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
	if _, err := recording.Repair(path, start); !errors.Is(err, recording.ErrInUse) {
		t.Errorf("got %v of a file with a lock, want ErrInUse", err)
	}
	damaged := slices.Clone(whole[:len(whole)-1])
	damaged[44] ^= 1 // a field of the header
	path = onDisk(t, damaged)
	if _, err := recording.Repair(path, start); !errors.Is(err, recording.ErrMalformed) {
		t.Errorf("got %v of a damaged header, want ErrMalformed", err)
	}
	if b, err := os.ReadFile(path); err != nil || !slices.Equal(b, damaged) {
		t.Errorf("a file that was refused has changed (%v)", err)
	}
	if _, err := recording.Repair(onDisk(t, []byte("something else that is long enough to be a header")), start); !errors.Is(err, recording.ErrNotRecording) {
		t.Errorf("got %v, want ErrNotRecording", err)
	}
}

func TestEventsOnly(t *testing.T) {
	records := numbered(100)
	records = append(records, event(2000, recording.Event{Kind: recording.Gap, Peer: alice, Tag: 2, Count: 3}), event(2001, recording.Event{Kind: recording.Stopped}))
	r := open(t, file(t, recording.Header{}, recording.Config{BlockBytes: 512}, records...))
	got, errs := read(recording.Readers{r}, recording.Query{EventsOnly: true})
	if want := forms(records[100:]...); !slices.Equal(got, want) || errs != nil {
		t.Errorf("got %v and %v, want %v", got, errs, want)
	}
	for range r.Messages(recording.Query{EventsOnly: true}) {
		t.Error("got a message")
	}
}
