// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tagbus/bridge/internal/natsserver"
	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// TestASpoolSurvivesAKill of the bridge while the servers are away: each message is in the log once.
func TestASpoolSurvivesAKill(t *testing.T) {
	server := natsserver.Start(t)
	makeStream(t, server.URL)
	here, dir, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "run.tbr")
	set := tags.Of(1, 2)
	p, lost := publisher(t, here, bus.PublisherConfig{Tags: set, Sending: bus.Sending{CacheMessages: 5000, QueueBytes: 32 << 20}})
	published := uint64(0)
	publish := func(n int) {
		data := make([]byte, 300)
		for range n {
			published++
			for tag := range set.All() {
				must(t, p.PublishContext(t.Context(), tag, data))
			}
		}
		p.Flush()
	}
	out := []string{
		"out", "--bus", here, "--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--tags", "1-2", "--replay", "5000",
		"--held-bytes", "1MiB", "--spool", dir, "--spool-bytes", "64MiB", "--json",
	}
	first := start(t, out...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	publish(1000)
	server.Kill()
	publish(10_000) // 6 MB
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for size(t, dir) < 5<<20 { // of what is not there yet, publishers have kept more
		<-pace.C
		must(t, t.Context().Err())
	}
	must(t, first.Process.Kill())
	_, _ = first.wait(t)
	<-lost
	server.Restart()
	second := start(t, out...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	publish(500)
	awaitTails(t, server.URL, published+1)
	must(t, p.Close())
	must(t, second.Process.Signal(syscall.SIGTERM))
	if code, sum := second.wait(t); code != 0 || sum["lost"] != 0. || sum["spooled"] != 0. || sum["messages"].(float64) < 15_000 {
		t.Errorf("got status %d and %v, want 0 and nothing lost; it said\n%s", code, sum, second.err.String())
	}
	rec := start(t, "convert", server.URL+"/TAGBUS", "--out", file)
	if code, _ := rec.wait(t); code != 0 {
		t.Errorf("got status %d: %s", code, rec.err.String())
	}
	r, err := recording.Open(file)
	must(t, err)
	if report, err := recording.Verify(r); err != nil || report.Total().Messages != 2*published || report.Total().Missing > 0 {
		t.Errorf("got %v, %+v, want %d messages", err, report, 2*published)
	}
	must(t, r.Close())
}

// size returns how many bytes are in a folder.
func size(t *testing.T, dir string) (sum int64) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			return nil
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	}))
	return sum
}
