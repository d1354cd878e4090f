// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
)

// An internal test: what the file has been given so far shows nowhere outside.
func TestWrittenCountsWholeMessages(t *testing.T) {
	tests := []struct {
		name   string
		sizes  []int
		before uint64 // written before the flush
	}{
		{"small messages stay in the buffer", []int{10, 20, 30}, 0},
		{"a message that overflows the buffer takes those before it along", []int{10, 20, outputBytes}, 2},
		{"the next ones wait again", []int{outputBytes, 10, outputBytes, 10}, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var file bytes.Buffer
			f := &Flags{Output: "-", Record: &record.Format{Kind: record.Raw}}
			o, err := newOutput(f, &file)
			testkit.Must(t, err)
			total := 0
			for _, n := range test.sizes {
				testkit.Must(t, o.write(bus.Message{Data: make([]byte, n)}))
				total += n
			}
			if got := o.written.Load(); got != test.before {
				t.Errorf("before the flush: got %d messages written, want %d", got, test.before)
			}
			testkit.Must(t, o.flush())
			if got, want := o.written.Load(), uint64(len(test.sizes)); got != want {
				t.Errorf("got %d messages written, want %d", got, want)
			}
			if got := o.bytes.Load(); got != uint64(total) || file.Len() != total {
				t.Errorf("got %d bytes counted and %d written, want %d", got, file.Len(), total)
			}
		})
	}
}

func TestAMessageThatCannotBeWrittenTakesNoneBeforeItAlong(t *testing.T) {
	var file bytes.Buffer
	o, err := newOutput(&Flags{Output: "-", Record: &record.Format{Kind: record.Lines}}, &file)
	testkit.Must(t, err)
	testkit.Must(t, o.write(bus.Message{Data: []byte("good")}))
	for range 2 {
		if err := o.write(bus.Message{Data: []byte("two\nlines")}); !errors.Is(err, record.ErrLineFeed) {
			t.Errorf("write: got %v, want %v", err, record.ErrLineFeed)
		}
		if err := o.flush(); !errors.Is(err, record.ErrLineFeed) {
			t.Errorf("flush: got %v, want %v", err, record.ErrLineFeed)
		}
	}
	if got, written := file.String(), o.written.Load(); got != "good\n" || written != 1 {
		t.Errorf("got %q and %d written, want the first message", got, written)
	}
}

// TestAnOutputThatIsRemoved while it is written: all was well, and nothing was there.
func TestAnOutputThatIsRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	failed := make(chan error, 1)
	o, err := openOutput(&Flags{Output: file, Record: &record.Format{Kind: record.Lines}}, nil, nil, func(err error) { failed <- err })
	testkit.Must(t, err)
	testkit.Must(t, errors.Join(o.begin(), o.write(bus.Message{Data: []byte("new")}), os.Remove(file)))
	if err := <-failed; !errors.Is(err, cli.ErrUnlinked) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want that %s was removed", err, file)
	}
	if err := o.write(bus.Message{Data: []byte("more")}); !errors.Is(err, cli.ErrUnlinked) {
		t.Errorf("got %v of the next message, want that the file was removed", err)
	}
	if err := o.close(); !errors.Is(err, cli.ErrUnlinked) {
		t.Errorf("got %v at the end, want that the file was removed", err)
	}
}

func TestAnOutputReplacesItsFileWhenItBegins(t *testing.T) {
	const before = "longer than what comes\n"
	for _, test := range []struct {
		name  string
		begin bool
		want  string
	}{
		{"a run that begins", true, "new\n"},
		{"one that fails before", false, before},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "out")
			testkit.Must(t, os.WriteFile(file, []byte(before), 0o600))
			o, err := openOutput(&Flags{Output: file, Record: &record.Format{Kind: record.Lines}}, nil, nil, func(err error) { t.Error(err) })
			testkit.Must(t, err)
			if test.begin {
				testkit.Must(t, errors.Join(o.begin(), o.write(bus.Message{Data: []byte("new")})))
			}
			testkit.Must(t, o.close())
			if got, err := os.ReadFile(file); string(got) != test.want {
				t.Errorf("got %q and error %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestARecordHeaderOfALaterVersionIsRefused(t *testing.T) {
	for _, f := range []*Flags{{Print: printer.Hex}, {Output: "-"}, {Output: "-", Record: &record.Format{Kind: record.Pcap}}} {
		o, err := newOutput(f, new(bytes.Buffer))
		testkit.Must(t, err)
		err = o.write(bus.Message{Tag: 5, Counter: 9, Data: []byte("\x89tagbus\n\x02 and what that version may hold")})
		want := "tag 0x0000000000000005 message 9: record header that cannot be read: its version is 2.32, and this program knows 1.0: --no-record-header takes messages as they are"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
