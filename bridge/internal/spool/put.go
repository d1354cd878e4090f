// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/recording"
)

// framing is what a record takes in a file besides its bytes: more than it does.
const framing = 128

// Put writes records, those of each chain in their order, and returns when the system has them.
//
//   - bytes: what they take in a log.
//   - Errors: ErrFull, and nothing is written; those of the disk, after which some are written.
func (s *Spool) Put(all []*record.Record, bytes int64) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	if have, _ := s.Size(); have+bytes+framing*int64(len(all)) > s.limit {
		return ErrFull
	}
	if err := s.put(all); err != nil {
		return s.named(errors.Join(err, s.endSegment()))
	}
	return nil
}

func (s *Spool) put(all []*record.Record) error {
	for _, r := range all {
		if err := s.begin(); err != nil {
			return err
		}
		if err := s.one(r); err != nil {
			return err
		}
		if s.to.Written().Bytes >= s.segmentBytes {
			if err := s.endSegment(); err != nil {
				return err
			}
		}
	}
	if s.to == nil {
		return nil
	}
	err := s.to.Flush()
	s.count()
	return err
}

// begin begins a segment if there is none.
func (s *Spool) begin() error {
	if s.to != nil {
		return nil
	}
	s.mu.Lock()
	seg := &Segment{number: s.number}
	s.number++
	s.mu.Unlock()
	file, err := s.disk.Create(seg.number)
	if err != nil {
		return err
	}
	to, err := recording.NewWriter(file, recording.Header{Name: s.log}, recording.Config{BlockBytes: blockBytes(s.segmentBytes)})
	if err != nil {
		return errors.Join(err, file.Close(), s.disk.Remove(seg.number))
	}
	s.file, s.to = file, to
	s.places, s.peers = make(map[durable.Key]uint64), make(map[bus.Peer]*bus.Peer)
	s.mu.Lock()
	s.current = seg
	s.mu.Unlock()
	s.count()
	return nil
}

// blockBytes returns the size of a block in segments of a size.
func blockBytes(segment int64) int { return int(min(1<<20, max(1<<10, segment/8))) }

// count counts what is in the current segment.
func (s *Spool) count() {
	now := s.to.Written()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += now.Bytes - s.current.bytes
	s.messages += now.Messages - s.current.messages
	s.current.bytes, s.current.messages = now.Bytes, now.Messages
}

// endSegment ends the current segment, if there is one: it is to be read.
func (s *Spool) endSegment() error {
	if s.to == nil {
		return nil
	}
	err := s.to.Close()
	s.count()
	err = errors.Join(err, s.file.Close())
	s.file, s.to, s.places, s.peers = nil, nil, nil, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread = append(s.unread, s.current)
	s.current = nil
	return err
}

// peer returns one pointer for equal publishers, each of which has its place in a block once.
func (s *Spool) peer(p *bus.Peer) *bus.Peer {
	known := s.peers[*p]
	if known == nil {
		known = p
		s.peers[*p] = p
	}
	return known
}

// one writes a record.
func (s *Spool) one(r *record.Record) error {
	peer, key := s.peer(r.Peer), durable.Key{Tag: r.Tag, Instance: r.Peer.Instance}
	event := recording.Event{Time: r.Time, Peer: peer, Tag: r.Tag, Text: r.Text}
	if place := s.places[key]; place == 0 || place != r.First {
		at := event
		at.Kind, at.Count, at.Text = recording.Position, r.First-1, ""
		if err := s.to.AppendEvent(at); err != nil {
			return err
		}
	}
	s.places[key] = r.Next()
	switch r.Kind {
	case record.Messages:
		return s.messagesOf(r, peer)
	case record.Lost:
		return s.lost(r, event)
	case record.End:
		event.Kind, event.Cause, event.Count, event.Failed = kindOf(r.How), recording.Cause(r.How), r.First, r.How == record.Failed
		return s.to.AppendEvent(event)
	default:
		return nil // the Position says it
	}
}

func (s *Spool) messagesOf(r *record.Record, peer *bus.Peer) error {
	for m := range r.Messages() {
		m.Publisher = peer
		if err := s.to.Append(m.Time, &m.Message); err != nil {
			return err
		}
	}
	return nil
}

// lost writes the counters of each cause, and of none.
func (s *Spool) lost(r *record.Record, event recording.Event) error {
	event.Kind = recording.Gap
	left := r.Count
	for _, share := range r.Causes {
		if share.Count == 0 {
			continue
		}
		left -= share.Count
		event.Count, event.Cause = share.Count, recording.Cause(share.Cause)
		if err := s.to.AppendEvent(event); err != nil {
			return err
		}
	}
	if left == 0 {
		return nil
	}
	event.Count, event.Cause, event.Failed = left, 0, true // which tells it from the cause that is other
	return s.to.AppendEvent(event)
}

// kindOf returns the event for the end of a chain.
func kindOf(how record.How) recording.EventKind {
	switch how {
	case record.Goodbye, record.Failed:
		return recording.Ended
	case record.Stopped:
		return recording.Lost
	default:
		return recording.Vanished
	}
}
