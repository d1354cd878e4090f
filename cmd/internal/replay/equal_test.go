// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"bytes"
	"context"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
	"tagbus/node"
	"tagbus/recording"
	"tagbus/tags"
)

// TestRecordingOfAReplay plays a recording over loopback to a recorder. Its recording
// equals the first one in everything except times: tags, statuses, data and their order.
// Counters go on by one from 1.
func TestRecordingOfAReplay(t *testing.T) {
	messages := testkit.Fewer(200_000)
	if testkit.All() && !testkit.Race { // make limits
		messages = 10_000_000
	}
	for _, line := range []string{"--as-fast-as-possible", "--speed 1000 --no-check"} {
		t.Run(line, func(t *testing.T) {
			seed := rand.Uint64()
			original := filepath.Join(t.TempDir(), "original.tbr")
			makeUp(t, original, seed, messages)
			again := filepath.Join(t.TempDir(), "again.tbr")
			folder := filepath.Join(t.TempDir(), "bus")
			stop := recordAll(t, folder, again, messages)
			cmd := tooltest.MustRead[Command](t, line+" "+original)
			var said bytes.Buffer
			e := &tool.Env{Flags: &tool.Flags{Bus: folder, Backend: "tcp"}, Streams: cli.Streams{Out: io.Discard, Err: &said}}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			err := cmd.Run(ctx, e)
			if closeErr := e.Close(); err != nil || closeErr != nil {
				t.Fatalf("seed %d: %v, %v: %s", seed, err, closeErr, said.String())
			}
			stop()
			if want := "; ended by end of recording\n"; !strings.HasSuffix(said.String(), want) {
				t.Errorf("got %s, want %s", said.String(), want)
			}
			compare(t, seed, original, again, messages)
		})
	}
}

// openFile opens a file for a recording, and closes it at the end of the test.
func openFile(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Create(path)
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return file
}

// makeUp writes a recording of random messages in bursts: of 300 tags and two publishers,
// of all statuses, mostly small, some empty, some larger than a page.
func makeUp(t *testing.T, path string, seed uint64, messages int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	cfg := recording.Config{Codec: recording.Codec(r.IntN(3)), BlockBytes: 1000 << r.IntN(11)}
	large := make([]byte, 200_000)
	for i := range large {
		large[i] = byte(r.Uint32() >> 28) // so that it can be compressed
	}
	at, tag, counters := epoch, tags.Tag(0x1000), make(map[tags.Tag]uint64)
	next := func() recording.Record {
		if r.IntN(8) == 0 {
			tag = tags.Tag(0x1000 + r.IntN(300)*3)
			at = at.Add(time.Duration(r.ExpFloat64() * float64(80*time.Microsecond)))
		}
		size := r.IntN(64)
		switch r.IntN(5000) {
		case 0:
			size = r.IntN(len(large))
		case 1, 2, 3, 4:
			size = r.IntN(4000)
		}
		begin := r.IntN(len(large) - size + 1)
		counters[tag] += 1 + uint64(r.IntN(1000)/999) // some were lost
		m := bus.Message{Tag: tag, Counter: counters[tag], Publisher: []*bus.Peer{alice, bob}[tag%2], Data: large[begin : begin+size]}
		if r.IntN(10) == 0 {
			m.Status = bus.Status(r.Uint32())
		}
		return rectest.Message(at, m)
	}
	rectest.Write(t, path, recording.Header{}, cfg, func(yield func(recording.Record) bool) {
		for range messages {
			yield(next())
		}
	})
}

// recordAll records what comes on the tags of makeUp. The function that it returns waits
// for all messages, and closes the recording.
func recordAll(t *testing.T, folder, path string, messages int) (stop func()) {
	t.Helper()
	n, err := node.Open(node.Config{Bus: folder, Logger: slog.New(slog.DiscardHandler)})
	testkit.Must(t, err)
	w, err := recording.NewWriter(openFile(t, path), recording.Header{}, recording.Config{})
	testkit.Must(t, err)
	all := make(chan struct{})
	got := 0
	set, err := tags.Range(0x1000, 0x1fff)
	testkit.Must(t, err)
	s, err := n.NewSubscriber(bus.SubscriberConfig{})
	testkit.Must(t, err)
	_, err = s.SubscribeWith(set, func(m bus.Message) {
		if err := w.Append(time.Now(), &m); err != nil {
			t.Error(err)
		}
		if got++; got == messages {
			close(all)
		}
	}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Block}})
	testkit.Must(t, err)
	return func() {
		t.Helper()
		select {
		case <-all:
		case <-time.After(time.Minute):
			t.Errorf("fewer than %d messages came", messages)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// compare compares two recordings message by message.
func compare(t *testing.T, seed uint64, original, again string, messages int) {
	t.Helper()
	files := make([]*recording.Reader, 2)
	next := make([]func() (recording.Message, error, bool), 2)
	for i, path := range []string{original, again} {
		f, err := recording.Open(path)
		testkit.Must(t, err)
		defer f.Close()
		pull, stop := iter.Pull2(f.Messages(recording.Query{}))
		defer stop()
		files[i], next[i] = f, pull
	}
	if got := files[1].Info().Messages; got != uint64(messages) {
		t.Errorf("seed %d: got %d messages, want %d", seed, got, messages)
	}
	counters := make(map[tags.Tag]uint64)
	for i := range messages {
		want, err, ok := next[0]()
		got, err2, ok2 := next[1]()
		if err != nil || err2 != nil || !ok || !ok2 {
			t.Fatalf("seed %d: message %d: %v, %v, %t, %t", seed, i, err, err2, ok, ok2)
		}
		counters[got.Tag]++
		if got.Tag != want.Tag || got.Status != want.Status || !bytes.Equal(got.Data, want.Data) || got.Counter != counters[got.Tag] {
			t.Fatalf("seed %d: message %d: got %v %d %d of %d bytes, want %v %d %d of %d bytes", seed, i,
				got.Tag, got.Counter, got.Status, len(got.Data), want.Tag, counters[got.Tag], want.Status, len(want.Data))
		}
	}
}
