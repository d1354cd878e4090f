// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit/memnet"
	"tagbus/recording"
	"tagbus/tags"
)

// An internal test: only here is the subscriber one of a network in memory, and the disk one
// that is slow, full or broken.

// errBroken is the error of a disk that fails.
var errBroken = errors.New("the disk is broken")

// fakeDisk has parts in memory.
type fakeDisk struct {
	mu       sync.Mutex
	parts    []*fakeFile
	named    int           // parts that have their name
	slow     time.Duration // that each write takes
	capacity int           // bytes until it fails; 0: no limit
	room     int           // bytes that free counts from; 0: no limit
	stuck    chan struct{} // nil: none; writes wait until it is closed
	slowSync time.Duration // that each Sync takes

	createErr, syncErr, freeErr error // of each part but the first; of each Sync; behind the first two blocks
}

func (d *fakeDisk) create(part int) (file, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if part != len(d.parts) {
		return nil, fmt.Errorf("part %d is created after %d", part, len(d.parts))
	}
	if part > 0 && d.createErr != nil {
		return nil, d.createErr
	}
	d.parts = append(d.parts, &fakeFile{disk: d})
	return d.parts[part], nil
}

func (d *fakeDisk) name(part int) string { return partName("run.tbr", part) }

func (d *fakeDisk) finish(part int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if part != d.named {
		return fmt.Errorf("part %d gets its name after %d", part, d.named)
	}
	d.named++
	return nil
}

func (d *fakeDisk) free() (uint64, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.freeErr != nil && d.used() > 512<<10 {
		return 0, false, d.freeErr
	}
	return uint64(max(0, d.room-d.used())), d.room > 0, nil
}

func (d *fakeDisk) used() (n int) {
	for _, f := range d.parts {
		n += f.Len()
	}
	return n
}

type fakeFile struct {
	bytes.Buffer
	disk   *fakeDisk
	syncs  int
	closed bool
}

// Write implements io.Writer.
func (f *fakeFile) Write(p []byte) (int, error) {
	<-time.After(f.disk.slow)
	f.disk.mu.Lock()
	stuck := f.disk.stuck
	f.disk.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.closed {
		return 0, errors.New("written after close")
	}
	if left := f.disk.capacity - f.disk.used(); f.disk.capacity > 0 && len(p) > left {
		n, _ := f.Buffer.Write(p[:left])
		return n, errBroken
	}
	return f.Buffer.Write(p)
}

// Sync implements file.
func (f *fakeFile) Sync() error {
	<-time.After(f.disk.slowSync)
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.syncs++
	return f.disk.syncErr
}

// Close implements io.Closer.
func (f *fakeFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.closed = true
	return nil
}

// synced returns how often a part was written to the disk itself.
func (d *fakeDisk) synced(part int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.parts[part].syncs
}

// bed is a bus in memory with one publisher, and a recorder.
type bed struct {
	t         *testing.T
	network   *memnet.Network
	dir       *memory.Directory
	host      netip.Addr
	publisher *bus.Publisher
	disk      *fakeDisk
	run       *run
	out, err  bytes.Buffer
}

// newBed opens a bed in which the publisher has the tags 5 and 6. It records to d.
func newBed(t *testing.T, line string, d *fakeDisk) *bed {
	t.Helper()
	b := &bed{t: t, network: memnet.New(), dir: memory.New(), host: netip.MustParseAddr("10.0.0.1"), disk: d}
	t.Cleanup(func() { b.must(b.dir.Close()) })
	b.publisher = b.newPublisher(tags.Of(5, 6))
	c := tooltest.MustRead[Command](t, line)
	var err error
	b.run, err = newRun(c, &tool.Env{Flags: &tool.Flags{JSON: true}, Streams: cli.Streams{Out: &b.out, Err: &b.err}, Hurry: context.Background()}, d)
	b.must(err)
	loop := memnet.NewLoop()
	t.Cleanup(loop.Close)
	b.run.post = loop.Post
	b.host = b.host.Next()
	b.run.subscriber, err = bus.NewSubscriber(b.network.Opener(loop, memnet.Config{Host: b.host}), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: b.run.onEvent}})
	b.must(err)
	return b
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// newPublisher opens a publisher of small pages and a small queue.
func (b *bed) newPublisher(set tags.Set) *bus.Publisher {
	b.t.Helper()
	loop := memnet.NewLoop()
	b.host = b.host.Next()
	p, err := bus.NewPublisher(b.network.Opener(loop, memnet.Config{Host: b.host}), b.dir, bus.PublisherConfig{
		Tags: set, Listening: bus.Listening{Listen: netip.AddrPortFrom(b.host, 0)}, Common: bus.Common{Name: "pump"}, Sending: bus.Sending{PageBytes: 1024, MaxMessageBytes: 1000, QueueBytes: 16 << 10, CacheMessages: 3},
	})
	b.must(err)
	b.t.Cleanup(func() {
		b.must(p.Close())
		loop.Close()
	})
	return p
}

// publish publishes messages of 500 bytes, of tag 5 and 6 in turn.
func (b *bed) publish(n int) {
	b.t.Helper()
	for i := range n {
		b.must(b.publisher.PublishContext(context.Background(), tags.Tag(5+i%2), make([]byte, 500)))
		b.publisher.Flush()
		if i%16 == 0 {
			synctest.Wait() // the recorder is as fast as its disk
		}
	}
}

// publishToTheEnd publishes until the recorder ends by itself.
func (b *bed) publishToTheEnd() {
	b.t.Helper()
	for i := 0; ; i++ {
		select {
		case <-b.run.ending.Done():
			return
		default:
		}
		if i == 100_000 {
			b.t.Error("the recorder does not end")
			return
		}
		if err := b.publisher.Publish(5, make([]byte, 500)); err != nil && !errors.Is(err, bus.ErrNoResources) {
			b.t.Error(err)
		}
		b.publisher.Flush()
		synctest.Wait()
	}
}

// during records while f runs, and returns the error of the command.
func (b *bed) during(ctx context.Context, f func()) error {
	b.t.Helper()
	b.must(b.run.open(ctx))
	ended := make(chan error, 1)
	go func() { ended <- b.run.run(ctx) }()
	b.must(b.publisher.WaitSubscribers(context.Background(), 1, b.run.cmd.Tags))
	f()
	return <-ended
}

// verify verifies what is on the disk.
func (b *bed) verify() *recording.Report {
	b.t.Helper()
	var readers []*recording.Reader
	for i, f := range b.disk.parts {
		r, err := recording.NewReader(bytes.NewReader(f.Bytes()), int64(f.Len()), recording.ReaderConfig{Name: fmt.Sprint("part ", i)})
		b.must(err)
		readers = append(readers, r)
	}
	report, err := recording.Verify(readers...)
	b.must(err)
	return report
}

// events returns the events of a kind that are recorded.
func (b *bed) events(kinds ...recording.EventKind) (all []recording.Event) {
	b.t.Helper()
	for _, f := range b.disk.parts {
		r, err := recording.NewReader(bytes.NewReader(f.Bytes()), int64(f.Len()), recording.ReaderConfig{})
		b.must(err)
		for rec, err := range r.Records(recording.Query{}) {
			b.must(err)
			if rec.Event != nil && slices.Contains(kinds, rec.Event.Kind) {
				all = append(all, *rec.Event)
			}
		}
	}
	return all
}
