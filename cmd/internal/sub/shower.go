// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sub

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
	"tagbus/internal/stuck"
)

// pieceBytes is the most that the output is given at once, so that a slow one can be told
// from one that takes nothing.
const pieceBytes = 16 << 10

// leastFileBytes is what a file counts as: a block of most file systems.
const leastFileBytes = 4096

// errOutLimit ends a run with --out.
var errOutLimit = errors.New("the limit of --out is reached")

// shower writes messages to the output, or into files.
//
// Threads: one calls showAll; the counters may be read by any.
type shower struct {
	printer   *printer.Printer // nil: raw
	to        *bufio.Writer
	folder    string // "": none
	left      int64  // bytes that files may have
	limit     units.Bytes
	files     uint64
	asTheyAre bool

	messages, bytes atomic.Uint64 // shown, and handed on
	progress        atomic.Uint64 // bytes that the output has taken, and files
}

// newShower returns a shower to out, and makes the folder of --out.
func newShower(c *Command, out io.Writer) (*shower, error) {
	s := &shower{folder: c.Out, left: int64(c.OutLimit), limit: c.OutLimit, asTheyAre: c.NoRecordHeader}
	s.to = bufio.NewWriterSize(session.Pieces{To: out, Most: pieceBytes, Taken: &s.progress}, 4*pieceBytes)
	f := c.format()
	payloads, err := printer.Payloads(c.Payloads, printer.Kind(f))
	if err != nil {
		return nil, err
	}
	if f != Raw {
		s.printer = &printer.Printer{Payloads: payloads, Kind: printer.Kind(f), To: s.to, Time: c.Timestamp, Delta: c.Delta, TagsOnly: c.TagsOnly}
	}
	if c.Out == "" {
		return s, nil
	}
	return s, stuck.MkdirAll(c.Out, 0o777)
}

// showAll shows what is in the queue until its end.
func (s *shower) showAll(q *queue) error {
	for {
		all := q.take()
		if len(all) == 0 {
			return nil
		}
		bytes, shown := uint64(0), 0
		var err error
		for _, i := range all {
			if err = s.show(i); err != nil {
				break
			}
			shown++
			bytes += uint64(len(i.Data))
		}
		if flushed := s.to.Flush(); flushed != nil { // how many of them it has taken is not known
			return errors.Join(err, flushed)
		}
		s.messages.Add(uint64(shown))
		s.bytes.Add(bytes)
		if err != nil {
			return err
		}
	}
}

// show shows one message.
func (s *shower) show(i item) error {
	packet := record.Packet{Data: i.Data}
	if !s.asTheyAre {
		var err error
		if packet, err = record.Open(i.Data); err != nil {
			return fmt.Errorf("tag %v message %d: %w: --no-record-header takes messages as they are", i.Tag, i.Counter, err)
		}
	}
	if s.printer == nil {
		_, err := s.to.Write(packet.Data)
		return err
	}
	line := printer.Line{Message: i.Message, Packet: packet, At: i.at, Delta: i.delta}
	if s.folder != "" {
		var err error
		if line.File, err = s.file(i.Message, packet.Data); err != nil {
			return err
		}
	}
	return s.printer.Print(line)
}

// file writes a message into a file that did not exist, and returns its name, in which
// nothing is that a peer says.
func (s *shower) file(m bus.Message, data []byte) (name string, err error) {
	if s.left -= max(int64(len(data)), leastFileBytes); s.left < 0 {
		return "", fmt.Errorf("%w: %v (--out-limit)", errOutLimit, s.limit)
	}
	s.files++
	name = fmt.Sprintf("%08d-%v-%d", s.files, m.Tag, m.Counter)
	f, err := stuck.OpenFile(filepath.Join(s.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", fmt.Errorf("--out: %w: give a folder that is empty", err)
	}
	_, err = f.Write(data)
	err = cli.CloseNew(f, err) // a part of it would look like a message
	s.progress.Add(1)
	return name, err
}
