// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/cmd/internal/record"
)

const (
	outputBytes = 256 << 10

	// flushInterval bounds how long a written message stays in the buffer.
	flushInterval = 50 * time.Millisecond

	// pieceBytes is the most that the file is given at once, so that a slow
	// one can be told from one that takes nothing.
	pieceBytes = 16 << 10
)

// output writes messages to a file through a buffer that is never old.
//
// Threads: any.
type output struct {
	failed func(error) // told once of an error outside write
	file   *os.File    // nil for standard output
	to     *pieces
	stop   chan struct{}
	done   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	buffer  *bufio.Writer
	records *record.Writer
	err     error  // the first one; nothing is written after it
	taken   uint64 // messages

	written atomic.Uint64 // messages of which the file has every byte
}

// pieces hands what is written on in pieces and counts the bytes.
type pieces struct {
	to    io.Writer
	calls uint64        // of Write
	bytes atomic.Uint64 // taken by to
}

// Write writes all of b, or returns an error.
func (p *pieces) Write(b []byte) (n int, err error) {
	p.calls++
	for n < len(b) && err == nil {
		var m int
		m, err = p.to.Write(b[n:min(len(b), n+pieceBytes)])
		n += m
		p.bytes.Add(uint64(m))
	}
	return n, err
}

// openOutput opens the output that the flags name. Blocks: a FIFO, until it has
// a reader.
//
//   - failed: called at most once, from a goroutine, for an error that write
//     has not returned.
func openOutput(f *Flags, stdout io.Writer, failed func(error)) (*output, error) {
	o, err := newOutput(f, stdout)
	if err != nil {
		return nil, err
	}
	o.failed = failed
	go o.flushNowAndThen()
	return o, nil
}

// newOutput is openOutput for an output that is only flushed when told.
func newOutput(f *Flags, stdout io.Writer) (*output, error) {
	o := &output{stop: make(chan struct{}), done: make(chan struct{})}
	to := stdout
	if f.Output != "-" {
		// Not os.Create, which opens for reading too: then a FIFO would have
		// this process as its reader, and would never be seen to close.
		file, err := os.OpenFile(f.Output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return nil, err
		}
		o.file, to = file, file
	}
	o.to = &pieces{to: to}
	o.buffer = bufio.NewWriterSize(o.to, outputBytes)
	var err error
	if o.records, err = record.NewWriter(f.format(), o.buffer); err != nil {
		return nil, errors.Join(err, o.closeFile())
	}
	return o, nil
}

// write writes one message. Blocks: while the file or pipe takes nothing.
func (o *output) write(data []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	calls := o.to.calls
	if o.err = o.records.Write(data); o.err != nil {
		return o.err
	}
	o.taken++
	if o.to.calls != calls { // the buffer went out: at most this message is still in it
		o.written.Store(o.taken - 1)
	}
	return nil
}

func (o *output) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		if o.err = o.records.Flush(); o.err == nil {
			if o.err = o.buffer.Flush(); o.err == nil {
				o.written.Store(o.taken)
			}
		}
	}
	return o.err
}

func (o *output) flushNowAndThen() {
	defer close(o.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := o.flush(); err != nil {
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
	close(o.stop)
	<-o.done
	return errors.Join(o.flush(), o.closeFile())
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
	return o.records.Misfits()
}
