// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// ErrFull is returned by Put when the records would exceed the bound.
var ErrFull = errors.New("bridge: the spool is full: the publishers do what the policy says until the log takes some of it")

// OtherLogError means that a spool has records for another log.
type OtherLogError struct {
	Spool string
	Has   string // the name of that log
	Want  string
}

// Error names both, and what to do.
func (e *OtherLogError) Error() string {
	return sanitize.Linef("bridge: the spool %s has records for %s, and not for %s: start the bridge with that log first, or give it another folder", e.Spool, e.Has, e.Want)
}

// Segment is a file of a spool.
type Segment struct {
	number   uint64
	bytes    int64
	messages uint64

	// Pending is how many records of it its reader keeps that are not in the log. It is the reader's.
	Pending int
	// Read says that all of it was read. It is the reader's.
	Read bool
	// Damaged says that some of it cannot be read.
	Damaged bool
}

// Spool has segments.
//
// Threads: Put is one goroutine's, and Next, Read and Remove are another one's. Others: any.
type Spool struct {
	disk         Disk
	log          string
	limit        int64
	segmentBytes int64

	writing chan struct{} // a lock of the current segment, held while the disk takes bytes: synctest knows of channels what it does not of a Mutex
	file    io.WriteCloser
	to      *recording.Writer
	places  map[durable.Key]uint64 // where each chain goes on in it
	peers   map[bus.Peer]*bus.Peer // one pointer of equal ones in it

	mu       sync.Mutex
	current  *Segment   // nil: none is written
	unread   []*Segment // the oldest first
	number   uint64     // of the next
	bytes    int64      // of all
	messages uint64
}

// maxSegmentBytes bounds a segment: the space of what is in the log comes back in pieces of it.
const maxSegmentBytes = 64 << 20

// Open opens a spool with what an earlier bridge has left in it.
//
//   - log: the name of the log for which it is.
//   - limit: bytes of all files.
//   - Errors: an *OtherLogError; those of the disk, and of recording.NewReader for a file that is no segment.
func Open(disk Disk, log string, limit int64) (*Spool, error) {
	s := &Spool{disk: disk, log: log, limit: limit, segmentBytes: min(maxSegmentBytes, limit/8), writing: make(chan struct{}, 1)}
	numbers, err := disk.List()
	if err != nil {
		return nil, s.named(err)
	}
	for _, n := range numbers {
		seg := &Segment{number: n}
		r, file, err := s.open(seg)
		if err != nil {
			return nil, err
		}
		info := r.Info()
		if err := file.Close(); err != nil {
			return nil, s.named(err)
		}
		if !info.HeaderCut && info.HeaderDamage == nil && info.Name != log {
			return nil, &OtherLogError{disk.Name(), info.Name, log}
		}
		seg.bytes, seg.messages = info.Bytes, info.Messages
		s.bytes += seg.bytes
		s.messages += seg.messages
		s.unread = append(s.unread, seg)
		s.number = n
	}
	// Segments that were set aside keep their names: a number comes once.
	s.number = max(s.number+1, uint64(max(0, time.Now().UnixMilli())))
	return s, nil
}

// named names the spool in an error.
func (s *Spool) named(err error) error {
	return fmt.Errorf("bridge: spool %s: %w", sanitize.Text(s.disk.Name()), err)
}

// open opens a segment.
func (s *Spool) open(seg *Segment) (*recording.Reader, File, error) {
	file, err := s.disk.Open(seg.number)
	if err != nil {
		return nil, nil, s.named(err)
	}
	size, err := file.Size()
	var r *recording.Reader
	if err == nil {
		r, err = recording.NewReader(file, size, recording.ReaderConfig{Name: fmt.Sprintf("segment %d", seg.number), MaxBlockBytes: math.MaxInt32})
	}
	if err != nil {
		return nil, nil, s.named(errors.Join(err, file.Close()))
	}
	return r, file, nil
}

// Name returns what people call the spool.
func (s *Spool) Name() string { return s.disk.Name() }

// Size returns how much is in its files.
func (s *Spool) Size() (bytes int64, messages uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes, s.messages
}

// Empty reports whether all that was put has been read.
func (s *Spool) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unread) == 0 && s.current == nil
}

// Next returns the oldest segment that was not read; nil: there is none. The one that is being written ends then.
func (s *Spool) Next() *Segment {
	for range 2 {
		s.mu.Lock()
		if len(s.unread) > 0 {
			seg := s.unread[0]
			s.unread = s.unread[1:]
			s.mu.Unlock()
			return seg
		}
		s.mu.Unlock()
		s.writing <- struct{}{}
		_ = s.endSegment() // what is wrong with it is seen by its reader
		<-s.writing
	}
	return nil
}

// Remove removes a segment that was read, unless it is damaged: then it is set aside, for people.
func (s *Spool) Remove(seg *Segment) error {
	remove := s.disk.Remove
	if seg.Damaged {
		remove = s.disk.SetAside
	}
	if err := remove(seg.number); err != nil {
		return s.named(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes -= seg.bytes
	s.messages -= seg.messages
	return nil
}

// Close ends the segment that is being written, and lets another bridge use the spool.
func (s *Spool) Close() error {
	s.writing <- struct{}{}
	err := s.endSegment()
	<-s.writing
	return errors.Join(err, s.disk.Close())
}

// Record is a record that was read: a message, or another one.
type Record struct {
	record.Record                    // without messages; Lost: with one cause, or none
	Message       *recording.Message // of the kind Messages
}
