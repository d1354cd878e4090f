// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// errLowDisk ends a recording in order: the disk has too little left.
var errLowDisk = errors.New("the disk is almost full")

// writer writes blocks to the parts of a recording.
//
// Threads: one, except the counters.
type writer struct {
	cmd  *Command
	disk disk

	file    file
	blocks  *recording.BlockWriter
	part    int
	created time.Time // this part
	synced  time.Time // this part, the last time
	last    error     // why no part is begun any more, though the rest can be written
	broken  bool      // the disk has failed: nothing more is written, and no end, which would say that all is there
	closing chan error

	syncing  atomic.Bool   // no bytes are taken meanwhile
	taken    atomic.Uint64 // bytes that the files have taken
	parts    atomic.Uint64
	messages atomic.Uint64 // that are in blocks of which the file has every byte
}

// newWriter begins a recording. Blocks: for the disk.
func newWriter(c *Command, d disk, h recording.Header) (*writer, error) {
	w := &writer{cmd: c, disk: d}
	if err := w.guard(0); err != nil {
		return nil, fmt.Errorf("%w: not begun", err)
	}
	var err error
	if w.file, err = w.create(0); err != nil {
		return nil, err
	}
	_, blockBytes := c.blocks()
	cfg := recording.Config{BlockBytes: blockBytes, Codec: c.Codec}
	if w.blocks, err = recording.NewBlockWriter(w.pieces(w.file), h, cfg); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// pieces returns what blocks are written to.
func (w *writer) pieces(to file) io.Writer {
	return session.Pieces{To: to, Most: pieceBytes, Taken: &w.taken}
}

// create makes a part.
func (w *writer) create(part int) (file, error) {
	f, err := w.disk.create(part)
	if name := w.disk.name(part); err == nil && name != "" {
		f = watched{f, name}
	}
	return f, err
}

// begin gives the first part its name: what was there is gone.
func (w *writer) begin() error {
	w.created = time.Now()
	w.synced = w.created
	w.parts.Store(1)
	return w.disk.finish(0)
}

// guard returns errLowDisk if the disk would have less than --keep-free after so many bytes
// more.
func (w *writer) guard(more int) error {
	if w.cmd.KeepFree == 0 {
		return nil
	}
	free, ok, err := w.disk.free()
	if err != nil || !ok {
		return err
	}
	if free < uint64(w.cmd.KeepFree)+uint64(more) {
		return fmt.Errorf("%w: %s free, of which --keep-free leaves %v: make room for more", errLowDisk, units.FormatBytes(float64(free)), w.cmd.KeepFree)
	}
	return nil
}

// write writes a block, which may begin a part. Its memory may be used again.
//
// Errors: those of the disk. Unless the writer is broken then, the block is written, and it should be
// one of the last.
func (w *writer) write(b *recording.Block) error {
	if err := w.append(b); err != nil {
		w.broken = true
		return err
	}
	return w.last
}

// append is write, whose errors break the writer.
func (w *writer) append(b *recording.Block) error {
	switch err := w.guard(b.Bytes()); {
	case err == nil || w.last != nil:
	case errors.Is(err, errLowDisk):
		w.last = err
	default:
		return err
	}
	if w.last == nil && w.due() {
		if err := w.rotate(); err != nil {
			return err
		}
	}
	n := b.Messages()
	if err := w.blocks.WriteBlock(b); err != nil {
		return err
	}
	w.messages.Add(uint64(n))
	if f := w.cmd.Fsync; f.block || f.every > 0 && time.Since(w.synced) >= f.every {
		w.synced = time.Now()
		if err := w.sync(w.file.Sync); err != nil {
			return fmt.Errorf("fsync: %w", err)
		}
	}
	return nil
}

// sync calls what waits for the disk itself: it takes no bytes meanwhile, and is not given up for that.
func (w *writer) sync(wait func() error) error {
	w.syncing.Store(true)
	defer w.syncing.Store(false)
	return wait()
}

// due reports whether the next block is to begin a part.
func (w *writer) due() bool {
	now := w.blocks.Written()
	return now.Blocks > 0 && (w.cmd.RotateBytes > 0 && now.Bytes >= int64(w.cmd.RotateBytes) ||
		w.cmd.RotateEvery > 0 && time.Since(w.created) >= w.cmd.RotateEvery)
}

// rotate begins a part. The one before is closed beside it: to write it to the disk itself may
// take long. No more than one is, for then the disk is too slow. If no part can be made the one
// that is there goes on.
func (w *writer) rotate() error {
	if err := w.sync(w.awaitClosed); err != nil {
		return err
	}
	next, err := w.create(w.part + 1)
	if err != nil {
		w.last = err
		return nil
	}
	if err := w.blocks.Rotate(w.pieces(next)); err != nil {
		return errors.Join(err, next.Close())
	}
	before := w.file
	w.file, w.created, w.synced = next, time.Now(), time.Now()
	w.closing = make(chan error, 1)
	go func() { w.closing <- closeFile(before, w.cmd.Fsync.part) }()
	w.part++
	w.parts.Add(1)
	return w.sync(func() error { return w.disk.finish(w.part) }) // and its folder
}

// awaitClosed waits until the part before is closed.
func (w *writer) awaitClosed() error {
	if w.closing == nil {
		return nil
	}
	err := <-w.closing
	w.closing = nil
	return err
}

// close ends the recording, if it can still be written, and closes the file.
func (w *writer) close() error {
	var err error
	if !w.broken {
		err = w.blocks.Close()
	}
	return w.sync(func() error {
		return errors.Join(w.awaitClosed(), err, closeFile(w.file, w.cmd.Fsync.last && err == nil && !w.broken))
	})
}

// closeFile closes a file, after it is written to the disk itself.
func closeFile(f file, sync bool) (err error) {
	if sync {
		if err = f.Sync(); err != nil {
			err = fmt.Errorf("fsync: %w", err)
		}
	}
	return errors.Join(err, f.Close())
}
