// SPDX-License-Identifier: Apache-2.0

//go:build linux

package lossfile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/state"
	"tagbus/tags"
)

var (
	readout = Peer{"S1", "readout", "felix8"}
	other   = Peer{"S2", "", "felix9"}
)

// disk is a file in memory, which takes so many bytes.
type disk struct {
	mu     sync.Mutex
	text   strings.Builder
	writes int
	room   int // -1: without limit
	fails  error
}

func (d *disk) open(string) (io.WriteCloser, error) { return d, d.fails }

func (d *disk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.room >= 0 && len(b) > d.room {
		n := d.room
		d.room = 0
		d.text.Write(b[:n])
		return n, errors.New("no space left on device")
	}
	if d.room >= 0 {
		d.room -= len(b)
	}
	return d.text.Write(b)
}

// now returns what is written so far, and by how many writes.
func (d *disk) now() (text string, writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String(), d.writes
}

func (d *disk) Close() error { return nil }

func (d *disk) lines() []string {
	return strings.Split(strings.TrimSuffix(d.text.String(), "\n"), "\n")
}

// newWriter returns a writer to a disk, and what it says.
func newWriter(d *disk) (w *Writer, said *[]string) {
	said = new([]string)
	w = New("losses.jsonl", state.Publisher, "det", "felix7", func(err error) { *said = append(*said, err.Error()) })
	w.open = d.open
	return w, said
}

// TestLossesAreAddedUpForASecond compares the file to the letter.
func TestLossesAreAddedUpForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1}
		w, said := newWriter(d)
		w.Start("P1", nil)
		synctest.Wait()
		time.Sleep(200 * time.Millisecond)
		w.Add(readout, 5, "drop-newest", state.Full, 3)
		time.Sleep(500 * time.Millisecond)
		w.Add(readout, 5, "drop-newest", state.Full, 4)
		w.Add(readout, 6, "drop-newest", state.Full, 1)
		w.Add(readout, 5, "drop-newest", state.Memory, 2)
		w.Add(other, 5, "drop-newest", state.Full, 9)
		synctest.Wait()
		if text, _ := d.now(); text != "" {
			t.Errorf("got %q before the second was over, want nothing", text)
		}
		time.Sleep(800 * time.Millisecond)
		synctest.Wait()
		if _, writes := d.now(); writes != 4 {
			t.Errorf("got %d writes, want one for each line", writes)
		}
		w.AddSum(readout, 2000, "drop-oldest", state.Full, 10)
		w.AddSum(readout, 2000, "drop-oldest", state.Full, 10)
		if err := w.Close(map[state.Cause]uint64{state.Full: 40, state.Memory: 2, state.Connection: 0}); err != nil || *said != nil {
			t.Errorf("close: got %v, and %q was said, want nothing", err, *said)
		}
		const (
			self = `"role":"publisher","instance":"P1","name":"det","host":"felix7",`
			to1  = `"peer":{"instance":"S1","name":"readout","host":"felix8"},`
			to2  = `"peer":{"instance":"S2","host":"felix9"},`
		)
		want := []string{
			`{"time":"2000-01-01T00:00:01Z",` + self + to2 + `"tag":"0x0000000000000005","policy":"drop-newest","cause":"full","count":9,"first":"2000-01-01T00:00:00.7Z","last":"2000-01-01T00:00:00.7Z"}`,
			`{"time":"2000-01-01T00:00:01Z",` + self + to1 + `"tag":"0x0000000000000005","policy":"drop-newest","cause":"full","count":7,"first":"2000-01-01T00:00:00.2Z","last":"2000-01-01T00:00:00.7Z"}`,
			`{"time":"2000-01-01T00:00:01Z",` + self + to1 + `"tag":"0x0000000000000005","policy":"drop-newest","cause":"memory","count":2,"first":"2000-01-01T00:00:00.7Z","last":"2000-01-01T00:00:00.7Z"}`,
			`{"time":"2000-01-01T00:00:01Z",` + self + to1 + `"tag":"0x0000000000000006","policy":"drop-newest","cause":"full","count":1,"first":"2000-01-01T00:00:00.7Z","last":"2000-01-01T00:00:00.7Z"}`,
			`{"time":"2000-01-01T00:00:01.5Z",` + self + to1 + `"tags":2000,"policy":"drop-oldest","cause":"full","count":20,"first":"2000-01-01T00:00:01.5Z","last":"2000-01-01T00:00:01.5Z"}`,
			`{"time":"2000-01-01T00:00:01.5Z",` + self + `"cause":"full","count":3,"first":"2000-01-01T00:00:01.5Z","last":"2000-01-01T00:00:01.5Z"}`,
		}
		if diff := cmp.Diff(want, d.lines()); diff != "" {
			t.Errorf("the file differs (-want +got):\n%s", diff)
		}
	})
}

// TestLinesAreBounded loses messages of more tags in a second than there are lines, and of
// more than are kept.
func TestLinesAreBounded(t *testing.T) {
	for _, n := range []int{maxLines, maxLines + 1, 5000, maxKinds + 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &disk{room: -1}
				w, _ := newWriter(d)
				w.Start("P1", nil)
				var lost uint64
				for tag := range n {
					w.Add(readout, tags.Tag(tag), "drop-newest", state.Full, uint64(tag+1))
					lost += uint64(tag + 1)
				}
				w.Add(readout, 1, "drop-newest", state.Memory, 1)
				time.Sleep(2 * time.Second)
				if err := w.Close(nil); err != nil {
					t.Error(err)
				}
				if got := len(d.lines()); got > maxLines+3 {
					t.Errorf("got %d lines, want at most %d and sums", got, maxLines)
				}
				sum, summed := uint64(0), 0
				for _, r := range records(t, d) {
					if r.Cause == state.Full {
						sum += r.Count
						summed += r.Tags
					}
				}
				if sum != lost {
					t.Errorf("got %d lost messages in the file, want %d", sum, lost)
				}
				if want := min(n, maxKinds) - maxLines; want > 0 && summed != want {
					t.Errorf("got %d tags summed up, want %d", summed, want)
				}
			})
		})
	}
}

// TestSumsNameTheirPeers has some peers and more than have a line, each with many tags.
func TestSumsNameTheirPeers(t *testing.T) {
	for _, test := range []struct{ peers, sums, lines int }{{2, 2, 102}, {maxSums, maxSums, 116}, {40, maxSums, 117}} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{room: -1}
			w, _ := newWriter(d)
			w.Start("P1", nil)
			for peer := range test.peers {
				for tag := range 200 {
					w.Add(Peer{Instance: fmt.Sprint(peer)}, tags.Tag(tag), "drop-newest", state.Full, 1)
				}
			}
			if err := w.Close(nil); err != nil {
				t.Fatal(err)
			}
			all := records(t, d)
			sums, lost, summed := 0, uint64(0), 0
			for _, r := range all {
				lost += r.Count
				summed += r.Tags
				if r.Tag == nil && r.Peer != (Peer{}) && r.Policy == "drop-newest" {
					sums++
				}
			}
			if sums != test.sums || len(all) != test.lines || lost != uint64(200*test.peers) || summed != 200*test.peers-maxLines {
				t.Errorf("%d peers: got %d lines, %d of a peer, with %d messages and %d tags summed up", test.peers, len(all), sums, lost, summed)
			}
		})
	}
}

// TestWhatIsNotWrittenWaits has a disk that is full for a while, in the middle of a line,
// and one that cannot be opened.
func TestWhatIsNotWrittenWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: 300}
		w, said := newWriter(d)
		w.Start("P1", nil)
		w.Add(readout, 5, "drop-newest", state.Full, 3)
		w.Add(readout, 6, "drop-newest", state.Full, 2)
		time.Sleep(3500 * time.Millisecond)
		w.Add(readout, 6, "drop-newest", state.Full, 2)
		if want := []string{"--loss-file: no space left on device: what is lost is not written until this is mended"}; !cmp.Equal(want, *said) {
			t.Errorf("it was said: %q, want %q", *said, want)
		}
		d.mu.Lock()
		d.room = -1
		d.mu.Unlock()
		if err := w.Close(nil); err != nil {
			t.Error(err)
		}
		lines := d.lines()
		if len(lines) != 3 {
			t.Fatalf("got %q, want a whole line, a part of one, and a whole one", lines)
		}
		var got []string
		for _, r := range records(t, d) {
			got = append(got, fmt.Sprintf("%v %d %v", r.Tag, r.Count, r.Last.Sub(r.First)))
		}
		if want := []string{"0x0000000000000005 3 0s", "0x0000000000000006 4 3.5s"}; !cmp.Equal(want, got) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := &disk{fails: errors.New("permission denied")}
		w, said := newWriter(d)
		w.Start("P1", nil)
		synctest.Wait()
		if len(*said) != 1 {
			t.Errorf("it was said %q before something was lost, want one line", *said)
		}
		w.Add(readout, 5, "drop-newest", state.Full, 3)
		time.Sleep(5 * time.Second)
		err := w.Close(map[state.Cause]uint64{state.Full: 8})
		if want := "--loss-file losses.jsonl: that 8 messages were lost is not written"; err == nil || err.Error() != want || len(*said) != 1 {
			t.Errorf("close: got %v, and %d lines said, want %s, and one", err, len(*said), want)
		}
	})
}

// stuckFile is a file that takes nothing, as on a server that does not answer.
type stuckFile struct{ release chan struct{} }

func (s stuckFile) Write(b []byte) (int, error) {
	<-s.release
	return len(b), nil
}

func (stuckFile) Close() error { return nil }

// TestAFileThatHangsHoldsNothingUp adds and closes while a write hangs.
func TestAFileThatHangsHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuckFile{make(chan struct{})}
		w, _ := newWriter(nil)
		w.open = func(string) (io.WriteCloser, error) { return s, nil }
		w.Start("P1", nil)
		w.Add(readout, 5, "drop-newest", state.Full, 1)
		time.Sleep(2 * time.Second)
		start := time.Now()
		for range 10 {
			w.Add(readout, 5, "drop-newest", state.Full, 1)
		}
		err := w.Close(nil)
		if want := "--loss-file losses.jsonl takes nothing: what was lost is not written"; err == nil || err.Error() != want || time.Since(start) != closeTimeout {
			t.Errorf("close: got %v after %v, want %s after %v", err, time.Since(start), want, closeTimeout)
		}
		close(s.release)
	})
}

// TestLookIsCalledBeforeEachWrite, the last one too.
func TestLookIsCalledBeforeEachWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: -1}
		w, _ := newWriter(d)
		looks := 0
		w.Start("P1", func() {
			looks++
			w.Add(readout, 5, "drop-newest", state.Full, uint64(looks))
		})
		time.Sleep(2500 * time.Millisecond)
		if err := w.Close(map[state.Cause]uint64{state.Full: 6}); err != nil {
			t.Error(err)
		}
		var got []uint64
		for _, r := range records(t, d) {
			got = append(got, r.Count)
		}
		if want := []uint64{1, 2, 3}; !cmp.Equal(want, got) {
			t.Errorf("got counts %v, want %v", got, want)
		}
	})
}
