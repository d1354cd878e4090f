// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"strings"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/recording"
)

// endlessly begins to read a recording of 100,000 messages of 40 bytes again and again.
func endlessly(tb testing.TB) (a *ahead, stop func()) {
	tb.Helper()
	w := create(tb, "r.tbr", recording.Config{})
	data := strings.Repeat("x", 40)
	for range 100_000 {
		w.add(alice, sample{0, 5, 0, data})
	}
	files, err := recording.OpenAll(w.close())
	if err != nil {
		tb.Fatal(err)
	}
	a = &ahead{files: files, schedule: schedule{speed: 1}}
	ctx, cancel := context.WithCancel(context.Background())
	a.begin(ctx)
	return a, func() {
		cancel()
		for range a.full { // until nothing is read any more
		}
		if err := files.Close(); err != nil {
			tb.Error(err)
		}
	}
}

func TestAheadAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("needs a build without the race detector, which allocates")
	}
	a, stop := endlessly(t)
	defer stop()
	messages := 0
	got := testing.AllocsPerRun(10, func() {
		for pass := 0; pass < 10; {
			b := <-a.full
			messages += len(b.messages)
			if b.ends {
				pass++
			}
			a.free <- b
		}
	})
	if got > 1000 { // of 1,000,000 messages: for files and blocks
		t.Errorf("got %v allocations, want less than one in 1,000 messages", got)
	}
	if messages < 10_000_000 {
		t.Errorf("got %d messages, want 10,000,000 or more", messages)
	}
}

// BenchmarkAhead reads messages on the goroutine that is ahead.
func BenchmarkAhead(b *testing.B) {
	a, stop := endlessly(b)
	defer stop()
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		batch := <-a.full
		n += len(batch.messages)
		a.free <- batch
	}
}
