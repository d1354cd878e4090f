// SPDX-License-Identifier: Apache-2.0

//go:build linux

package lossfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// records reads what is on a disk, and wants no more bad lines than the disk has torn.
func records(t *testing.T, d *disk) (all []Record) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "losses")
	testkit.Must(t, os.WriteFile(path, []byte(d.text.String()), 0o600))
	bad, err := Read(path, func(r Record) { all = append(all, r) })
	if torn := strings.Count(d.text.String(), "\n") - len(all); err != nil || bad != torn {
		t.Fatalf("got %d bad lines and error %v, want %d", bad, err, torn)
	}
	return all
}

func TestReadPassesOverWhatIsNoRecord(t *testing.T) {
	const good = `{"time":"2026-11-23T20:00:00Z","role":"subscriber","instance":"S1","peer":{"instance":"P1"},"tag":"0x0000000000000005","cause":"full","count":3,"first":"2026-11-23T19:59:59Z","last":"2026-11-23T20:00:00Z"}`
	tests := []struct {
		name, text string
		good, bad  int
	}{
		{"nothing", "", 0, 0},
		{"one", good + "\n", 1, 0},
		{"one without line feed", good, 1, 0},
		{"two and an empty line", good + "\n\n" + good + "\n", 2, 0},
		{"one that was cut off", good[:100] + "\n" + good + "\n", 1, 1},
		{"JSON of another program", `{"msg":"hello"}` + "\n" + good, 1, 1},
		{"a line that is too long", strings.Repeat("x", 3*maxLine) + "\n" + good, 1, 1},
		{"a long line at the end", good + "\n" + strings.Repeat("x", 3*maxLine), 1, 1},
		{"noise", "\x00\xff\n{\n[]\n" + good, 1, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "losses")
			testkit.Must(t, os.WriteFile(path, []byte(test.text), 0o600))
			n := 0
			bad, err := Read(path, func(r Record) {
				n++
				if r.Instance != "S1" || *r.Tag != 5 || r.Count != 3 || r.Publisher() != (Peer{Instance: "P1"}) || r.Subscriber() != (Peer{Instance: "S1"}) {
					t.Errorf("got %+v", r)
				}
			})
			if n != test.good || bad != test.bad || err != nil {
				t.Errorf("got %d records, %d bad lines and error %v, want %d and %d", n, bad, err, test.good, test.bad)
			}
		})
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v, want fs.ErrNotExist", err)
	}
	sent := Record{Role: state.Sender, Instance: "P1", Peer: readout}
	if sent.Publisher() != (Peer{Instance: "P1"}) || sent.Subscriber() != readout {
		t.Errorf("a sender: got %v and %v", sent.Publisher(), sent.Subscriber())
	}
}

// TestProcessesShareAFile has several writers of one real file.
func TestProcessesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "losses")
	const writers, each = 8, 90
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			w := New(path, state.Subscriber, strings.Repeat("n", 200), "felix7", func(err error) { t.Error(err) })
			w.Start("S1", nil)
			for tag := range each {
				w.Add(readout, tags.Tag(tag), "drop-newest", state.Full, 1)
			}
			if err := w.Close(nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	bad, err := Read(path, func(Record) { n++ })
	if n != writers*each || bad != 0 || err != nil {
		t.Errorf("got %d records, %d bad lines and error %v, want %d and none", n, bad, err, writers*each)
	}
}

// TestLossesAreAddedWhileOthersAreTaken counts each once. Most takes find nothing.
func TestLossesAreAddedWhileOthersAreTaken(t *testing.T) {
	w, _ := newWriter(&disk{room: -1})
	const added = 2000
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range added {
			w.Add(readout, tags.Tag(i), "drop-newest", state.Full, 1)
			runtime.Gosched()
		}
	}()
	taken := uint64(0)
	for ends := false; !ends; {
		select {
		case <-done:
			ends = true
		default:
		}
		for _, l := range w.take() {
			taken += l.count
		}
	}
	if taken != added {
		t.Errorf("took %d lost messages of %d", taken, added)
	}
}

// TestWhatIsNoFileIsRefused at once: a FIFO, a folder, and a folder that is not there.
func TestWhatIsNoFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	testkit.Must(t, unix.Mkfifo(fifo, 0o600))
	reader, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0) // else it has no reader, which is another error
	testkit.Must(t, err)
	defer reader.Close()
	for path, want := range map[string]string{
		fifo:                               "open " + fifo + ": it is no file: p---------",
		dir:                                "open " + dir + ": is a directory",
		filepath.Join(dir, "none", "file"): "open " + filepath.Join(dir, "none", "file") + ": no such file or directory",
	} {
		if _, err := open(path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNoWriter does nothing.
func TestNoWriter(t *testing.T) {
	w := New("", state.Publisher, "", "", nil)
	w.Start("P1", nil)
	w.Add(readout, 5, "block", state.Full, 1)
	w.AddEvent(bus.Event{Kind: bus.Gap}, "block")
	if err := w.Close(nil); w != nil || err != nil {
		t.Errorf("got %v and error %v, want nothing", w, err)
	}
}

// TestEventsAreLosses takes the events that are about losses.
func TestEventsAreLosses(t *testing.T) {
	d := &disk{room: -1}
	w, _ := newWriter(d)
	peer := &bus.Peer{Instance: "P1", Name: "det", Host: "felix7"}
	for i, err := range []error{bus.ErrTooSlow, bus.ErrPublisherMemory, bus.ErrConnectionLost, bus.ErrPublisherEnded, bus.ErrQueueFull, bus.ErrLeftOut} {
		w.AddEvent(bus.Event{Kind: bus.Gap, Peer: peer, Tag: 5, Count: uint64(10 - i), Err: err}, "drop-newest")
	}
	w.AddEvent(bus.Event{Kind: bus.Lost, Peer: peer, Err: bus.ErrConnectionLost}, "drop-newest")
	w.Start("S1", nil)
	testkit.Must(t, w.Close(nil))
	var got []state.Cause
	for i, r := range records(t, d) {
		got = append(got, r.Cause)
		if r.Peer != (Peer{"P1", "det", "felix7"}) || *r.Tag != 5 || r.Count != uint64(10-i) || r.Policy != "drop-newest" {
			t.Errorf("got %+v", r)
		}
	}
	if want := []state.Cause{state.Full, state.Memory, state.Connection, state.Ended, state.Overflow}; !cmp.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}
