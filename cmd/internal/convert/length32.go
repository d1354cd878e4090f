// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"io"

	"tagbus/cmd/internal/record"
	"tagbus/recording"
	"tagbus/tags"
)

// length32Sink writes the data of messages, each behind its length.
type length32Sink struct {
	to    *record.Writer
	mixed bool // messages of several tags are asked for
	tag   tags.Tag
	begun bool
}

func newLength32Sink(w io.Writer, mixed bool) (*length32Sink, error) {
	to, err := record.NewWriter(record.Format{Kind: record.Length32}, w, 0)
	return &length32Sink{to: to, mixed: mixed}, err
}

func (s *length32Sink) message(m *recording.Message) error {
	if !s.begun {
		s.begun, s.tag = true, m.Tag
	}
	if !s.mixed && m.Tag != s.tag {
		return fmt.Errorf("the recording has messages of tags %v and %v: %w", s.tag, m.Tag, ErrSeveralTags)
	}
	return s.to.Write(record.Packet{Data: m.Data})
}

func (s *length32Sink) event(*recording.Event) error { return nil }

func (s *length32Sink) end() error { return s.to.End() }
