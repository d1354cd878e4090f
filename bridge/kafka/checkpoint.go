// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"tagbus/bridge/durable"
)

// indexVersion begins the value of each record of an index.
const indexVersion = 1

// What the key of a record of an index begins with.
const (
	stateKey = 0 // and nothing more
	placeKey = 1 // and the key of a record
)

// inlineBytes is how large a record may be that stands in the index itself: most that end a chain do.
const inlineBytes = 512

// maxName is how many bytes of a name are in a state.
const maxName = 1 << 10

var (
	errIndexVersion = errors.New("it is of a later version: use a later bridge")
	errIndexFormat  = errors.New("it is malformed")
)

// state says who writes a topic, and up to where the index has what is in it.
type state struct {
	topic   [16]byte // the id of the topic
	session [8]byte  // of the writer, random
	since   int64    // when it began, in milliseconds
	writer  string
	id      string  // its transactional id
	next    []int64 // of each partition: the first offset that is not in the index
}

// place is where the last record of a key is.
type place struct {
	partition int32
	offset    int64
	millis    int64  // when it was stored
	data      []byte // nil: it is larger than inlineBytes
}

func (p place) time() time.Time { return time.UnixMilli(p.millis) }

// bytes returns about how much a place takes in the index.
func (p place) bytes(key durable.Key) int64 { return int64(64 + len(key.Instance) + len(p.data)) }

// appendPlaceKey appends the key of a place.
func appendPlaceKey(b []byte, key durable.Key) []byte { return appendKey(append(b, placeKey), key) }

// marshalPlace returns the value of a place.
func marshalPlace(topic [16]byte, p place) []byte {
	b := append([]byte{indexVersion}, topic[:]...)
	b = binary.AppendUvarint(b, uint64(p.partition))
	b = binary.AppendUvarint(b, uint64(p.offset))
	b = binary.AppendVarint(b, p.millis)
	if p.data == nil {
		return append(b, 0)
	}
	return append(append(b, 1), p.data...)
}

// marshalState returns the value of a state.
func marshalState(s *state) []byte {
	b := append([]byte{indexVersion}, s.topic[:]...)
	b = append(b, s.session[:]...)
	b = binary.AppendVarint(b, s.since)
	for _, text := range []string{s.writer, s.id} {
		text = text[:min(len(text), maxName)]
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	b = binary.AppendUvarint(b, uint64(len(s.next)))
	for _, next := range s.next {
		b = binary.AppendUvarint(b, uint64(next))
	}
	return b
}

// scanner reads the value of a record of an index. After an error it yields zeros.
type scanner struct {
	b   []byte
	err error
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.b = nil
}

// take returns the next n bytes.
func (s *scanner) take(n uint64) []byte {
	if n > uint64(len(s.b)) {
		s.fail(fmt.Errorf("%w: it ends early", errIndexFormat))
		return make([]byte, min(n, 16))
	}
	b := s.b[:n]
	s.b = s.b[n:]
	return b
}

// number reads a number below a limit.
func (s *scanner) number(limit uint64) uint64 {
	v, n := binary.Uvarint(s.b)
	if n <= 0 || v >= limit {
		s.fail(fmt.Errorf("%w: a number is out of range", errIndexFormat))
		return 0
	}
	s.b = s.b[n:]
	return v
}

// signed reads a number with a sign.
func (s *scanner) signed() int64 {
	v, n := binary.Varint(s.b)
	if n <= 0 {
		s.fail(fmt.Errorf("%w: a number is out of range", errIndexFormat))
		return 0
	}
	s.b = s.b[n:]
	return v
}

// head reads the version and the id of the topic.
func (s *scanner) head() (topic [16]byte) {
	if version := s.take(1); s.err == nil && version[0] != indexVersion {
		s.fail(errIndexVersion)
	}
	if b := s.take(16); s.err == nil {
		topic = [16]byte(b)
	}
	return topic
}

// parsePlace undoes marshalPlace.
func parsePlace(b []byte) (topic [16]byte, p place, err error) {
	s := scanner{b: b}
	topic = s.head()
	p.partition = int32(s.number(maxPartitions))
	p.offset = int64(s.number(1<<partitionShift - 1))
	p.millis = s.signed()
	if s.number(2) == 1 {
		p.data = append([]byte{}, s.b...)
		s.b = nil
	}
	if s.err == nil && (len(p.data) > inlineBytes || len(s.b) > 0) {
		s.fail(fmt.Errorf("%w: it goes on behind its end", errIndexFormat))
	}
	return topic, p, s.err
}

// parseState undoes marshalState.
func parseState(b []byte) (st state, err error) {
	s := scanner{b: b}
	st.topic = s.head()
	if b := s.take(8); s.err == nil {
		st.session = [8]byte(b)
	}
	st.since = s.signed()
	st.writer = string(s.take(s.number(maxName + 1)))
	st.id = string(s.take(s.number(maxName + 1)))
	for range s.number(maxPartitions + 1) {
		st.next = append(st.next, int64(s.number(1<<partitionShift)))
		if s.err != nil {
			break
		}
	}
	if s.err == nil && len(s.b) > 0 {
		s.fail(fmt.Errorf("%w: it goes on behind its end", errIndexFormat))
	}
	return st, s.err
}
