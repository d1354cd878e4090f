// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/internal/testkit"
	"tagbus/recording"
)

// An internal test: only here is the file one on a disk that fills.

var errFull = errors.New("the disk is full")

// fullFile is a file that may have so many bytes.
type fullFile struct {
	data []byte
	most int
}

// WriteAt implements io.WriterAt.
func (f *fullFile) WriteAt(b []byte, offset int64) (int, error) {
	n := min(len(b), max(0, f.most-int(offset)))
	f.data = append(f.data, make([]byte, max(0, int(offset)+n-len(f.data)))...)
	if copy(f.data[offset:], b[:n]); n < len(b) {
		return n, errFull
	}
	return n, nil
}

func (f *fullFile) Truncate(size int64) error {
	f.data = append(f.data, make([]byte, max(0, int(size)-len(f.data)))...)[:size]
	return nil
}

func (f *fullFile) Sync() error { return nil }

// TestComplete_onADiskThatFills: the file takes no more room than before, and says the same of how its
// recorder has ended, however much of the index was written.
func TestComplete_onADiskThatFills(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tbr")
	records := []recording.Record{rectest.Message(time.Now(), bus.Message{}), {Event: &recording.Event{Kind: recording.Stopped, Time: time.Now()}}}
	rectest.Write(t, path, rectest.Header(1, time.Now()), recording.Config{}, slices.Values(records))
	whole, err := os.ReadFile(path)
	testkit.Must(t, err)
	index := bytes.LastIndex(whole, []byte("TBRi"))
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-1]++
	for name, before := range map[string][]byte{"killed": whole[:index], "killed in a block": append(bytes.Clone(whole[:index]), "TBRb"...), "damaged": damaged} {
		open := func(data []byte) *recording.Reader {
			r, err := recording.NewReader(bytes.NewReader(data), int64(len(data)), recording.ReaderConfig{})
			testkit.Must(t, err)
			return r
		}
		r := open(before)
		size, tail := r.Repair()
		for most := int(size); most < int(size)+len(tail); most++ {
			f := &fullFile{bytes.Clone(before), most}
			if err := complete(f, int64(len(before)), size, tail); !errors.Is(err, errFull) {
				t.Fatalf("%s: got %v, want %v", name, err, errFull)
			}
			got, want := open(f.data).Info(), r.Info()
			if got.IndexDamaged != want.IndexDamaged || got.Indexed || got.Blocks != want.Blocks || len(f.data) != len(before) {
				t.Errorf("%s, %d bytes of the index: got %d bytes, %+v, want %d, %+v", name, most-int(size), len(f.data), got, len(before), want)
			}
		}
		f := &fullFile{bytes.Clone(before), len(whole) + len(tail)}
		if err := complete(f, int64(len(before)), size, tail); err != nil || !open(f.data).Info().Indexed {
			t.Errorf("%s: got %v, %+v, want an index", name, err, open(f.data).Info())
		}
	}
}
