// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/session"
	"tagbus/internal/stream"
	"tagbus/internal/stuck"
)

const (
	outputBytes = 256 << 10

	// flushInterval bounds how long a written message stays in the buffer.
	flushInterval = 50 * time.Millisecond

	// flushesOfALook is how many of these there are between two looks whether the file is still
	// there.
	flushesOfALook = 20

	// pieceBytes is the most that the file is given at once, so that a slow
	// one can be told from one that takes nothing.
	pieceBytes = 16 << 10
)

// output writes messages to a file through a buffer that is never old.
//
// Threads: any.
type output struct {
	failed func(error)          // told once of an error outside write
	say    func(string, ...any) // nil: not
	file   *stuck.File          // nil for standard output
	bytes  atomic.Uint64        // that it has taken
	begun  bool
	stop   chan struct{}
	done   chan struct{} // closed when the goroutine that begin starts has ended

	asTheyAre bool // record headers stay where they are

	mu       sync.Mutex
	buffer   *bufio.Writer
	records  *record.Writer // nil if printer is not
	printer  *printer.Printer
	stripped bool   // a record header was taken off, and that was said
	err      error  // the first one; nothing is written after it
	taken    uint64 // messages

	written atomic.Uint64 // messages of which the file has every byte
}

// namedFile is a file whose errors say what to do about a disk that is full.
type namedFile struct{ *stuck.File }

// Write implements io.Writer.
func (f namedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, cli.FileError(f.Name(), err)
}

// openOutput opens the output that the flags name, to be begun. What is in the file stays
// until then. Blocks: a FIFO, until it has a reader.
//
//   - say: called at most once, from write, for what a person is to know.
//   - failed: called at most once, from a goroutine, for an error that write
//     has not returned.
func openOutput(f *Flags, stdout io.Writer, say func(string, ...any), failed func(error)) (*output, error) {
	o, err := newOutput(f, stdout)
	if err != nil {
		return nil, err
	}
	o.failed = failed
	if !f.format().IsCapture() && !f.Print.Prints() {
		o.say = say
	}
	return o, nil
}

// begin replaces what is in the file, now that messages may come.
func (o *output) begin() error {
	if o.file != nil {
		info, err := o.file.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = o.file.Truncate(0)
		}
		if err != nil {
			return err
		}
		o.file.Aside() // the end waits for it only so long
	}
	o.begun = true
	go o.flushNowAndThen()
	return nil
}

// newOutput is openOutput for an output that is only flushed when told.
func newOutput(f *Flags, stdout io.Writer) (*output, error) {
	o := &output{stop: make(chan struct{}), done: make(chan struct{}), asTheyAre: f.NoRecordHeader}
	to := stream.Aside(stdout)
	if f.outputName() != "-" {
		// Not os.Create, which opens for reading too: then a FIFO would have
		// this process as its reader, and would never be seen to close.
		file, err := stuck.OpenFile(f.Output, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		o.file, to = file, namedFile{file}
	}
	o.buffer = bufio.NewWriterSize(session.Pieces{To: to, Most: pieceBytes, Taken: &o.bytes}, outputBytes)
	if f.Print.Prints() {
		o.printer = &printer.Printer{Kind: f.Print, To: o.buffer, Time: true}
		return o, nil
	}
	var err error
	if o.records, err = record.NewWriter(f.format(), o.buffer, f.linkType()); err != nil {
		return nil, errors.Join(err, o.closeFile())
	}
	return o, nil
}

// write writes one message. Blocks: while the file or pipe takes nothing.
func (o *output) write(m bus.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	before := o.bytes.Load()
	if o.err = o.put(m); o.err != nil {
		return o.err
	}
	o.taken++
	if o.bytes.Load() != before { // the buffer went out: at most this message is still in it
		o.written.Store(o.taken - 1)
	}
	return nil
}

// put gives a message to the writer or the printer.
func (o *output) put(m bus.Message) error {
	packet := record.Packet{Data: m.Data}
	if !o.asTheyAre {
		var err error
		if packet, err = record.Open(m.Data); err != nil {
			return fmt.Errorf("tag %v message %d: %w: --no-record-header takes messages as they are", m.Tag, m.Counter, err)
		}
	}
	if o.printer != nil {
		return o.printer.Print(printer.Line{Message: m, Packet: packet, At: time.Now()})
	}
	if packet.Known && o.say != nil && !o.stripped {
		o.stripped = true
		o.say("messages have the record header of a capture: written without it (--record pcapng keeps what it says, --no-record-header the header)")
	}
	return o.records.Write(packet)
}

func (o *output) flush() error { return o.hand((*record.Writer).Flush) }

// hand has the writer hand on what it holds, by Flush or End, and empties the buffer: also
// after a message that could not be written, for those before it.
func (o *output) hand(on func(*record.Writer) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.records != nil {
		err = on(o.records)
	}
	if err == nil {
		err = o.buffer.Flush() // fails again if it has failed before
	}
	if err == nil {
		o.written.Store(o.taken)
	}
	if o.err == nil {
		o.err = err
	}
	return o.err
}

func (o *output) flushNowAndThen() {
	defer close(o.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-tick.C:
			err := o.flush()
			if err == nil && n%flushesOfALook == 0 {
				err = o.unlinked()
			}
			if err != nil {
				o.failed(err)
				return
			}
		case <-o.stop:
			return
		}
	}
}

// close writes what is in the buffer and closes the file. It returns the first
// error of the output's life.
func (o *output) close() error {
	if !o.begun {
		return o.closeFile()
	}
	close(o.stop)
	<-o.done
	err := o.hand((*record.Writer).End)
	if err == nil {
		err = o.unlinked()
	}
	return errors.Join(err, o.closeFile())
}

// unlinked returns an error if the file has been removed, or another one of before.
func (o *output) unlinked() error {
	if o.file == nil {
		return nil
	}
	err := cli.Unlinked(o.file.Name(), o.file)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	return o.err
}

func (o *output) closeFile() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// misfits returns how many messages were not of the size of the format.
func (o *output) misfits() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.records == nil {
		return 0
	}
	return o.records.Misfits()
}
