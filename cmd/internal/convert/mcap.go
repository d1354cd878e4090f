// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// Parts of an MCAP file.
const (
	// eventsTopic is the topic of what is not a message, as JSON.
	eventsTopic  = "tagbus/events"
	eventsSchema = `{"type":"object","properties":{` +
		`"time":{"type":"string","format":"date-time"},"kind":{"type":"string"},"publisher":{"type":"object"},` +
		`"tag":{"type":"string"},"tags":{"type":"string"},"count":{"type":"integer"},"cause":{"type":"string"},` +
		`"failed":{"type":"boolean"},"text":{"type":"string"}},"required":["time","kind"]}`
	eventsChannel = 0

	// encoding is the message encoding of packets.
	encoding = "tagbus"

	// mostSeries is how many channels there can be beside that of the events.
	mostSeries = 1<<16 - 1

	leastChunk, chunkPerChannel = 1 << 20, 512 // bytes
)

// channelKey is what the messages of a channel have in common. With a channel per publisher
// the tag is 0.
type channelKey struct {
	publisher int
	tag       tags.Tag
}

// mcapSink writes an MCAP file: a channel for each tag and publisher, or for each publisher
// if there are too many.
type mcapSink struct {
	to       *mcap.Writer
	perTag   bool
	numbers  numbers
	channels map[channelKey]uint16
	next     mcap.Message
	packet   []byte
	sequence uint32 // of the events
}

// layout says how many channels there will be.
type layout struct {
	perTag   bool
	channels int
}

// layoutOf returns how the messages that a query selects are spread over channels.
//
//   - Errors: ErrPublishers.
func layoutOf(series []recording.Series, q recording.Query) (layout, error) {
	var n numbers
	count := 0
	for _, s := range series {
		if !q.Tags.IsEmpty() && !q.Tags.Contains(s.Tag) || !selects(q.Publisher, s.Publisher) {
			continue
		}
		count++
		n.of(s.Publisher)
	}
	if count <= mostSeries {
		return layout{true, count}, nil
	}
	if len(n.byValue) > mostSeries {
		return layout{}, ErrPublishers
	}
	return layout{false, len(n.byValue)}, nil
}

// selects reports whether a query for a publisher selects this one.
func selects(name string, p *bus.Peer) bool {
	return name == "" || p != nil && (p.Name == name || p.Instance == name)
}

func newMCAPSink(w io.Writer, l layout, compression mcap.CompressionFormat, about []map[string]string) (*mcapSink, error) {
	to, err := mcap.NewWriter(w, &mcap.WriterOptions{
		IncludeCRC: true, Chunked: true, ChunkSize: max(leastChunk, int64(l.channels)*chunkPerChannel),
		Compression: compression, CompressionLevel: mcap.CompressionLevelFastest, OverrideLibrary: true,
	})
	if err != nil {
		return nil, err
	}
	s := &mcapSink{to: to, perTag: l.perTag, channels: make(map[channelKey]uint16, l.channels)}
	err = to.WriteHeader(&mcap.Header{Profile: encoding, Library: "tagbus rec convert"})
	for _, a := range about {
		if err == nil {
			err = to.WriteMetadata(&mcap.Metadata{Name: "tagbus.recording", Metadata: a})
		}
	}
	if err == nil {
		err = to.WriteSchema(&mcap.Schema{ID: 1, Name: "tagbus.Event", Encoding: "jsonschema", Data: []byte(eventsSchema)})
	}
	if err == nil {
		err = to.WriteChannel(&mcap.Channel{ID: eventsChannel, SchemaID: 1, Topic: eventsTopic, MessageEncoding: "json"})
	}
	return s, err
}

// channel returns the channel of a message, and writes what it is before its first.
func (s *mcapSink) channel(m *recording.Message) (uint16, error) {
	number, _ := s.numbers.of(m.Publisher)
	key := channelKey{publisher: number}
	if s.perTag {
		key.tag = m.Tag
	}
	id, ok := s.channels[key]
	if ok {
		return id, nil
	}
	if len(s.channels) == mostSeries {
		return 0, ErrPublishers
	}
	id = uint16(len(s.channels) + 1)
	s.channels[key] = id
	c := mcap.Channel{ID: id, MessageEncoding: encoding, Topic: "tagbus/" + shown(m.Publisher), Metadata: map[string]string{
		"publisher": describe(m.Publisher),
		"header":    "big-endian: tag u64, counter u64, version u8 = 1, kind u8 = 0, status u8, flags u8; if bit 0 of the flags is set the id of a request, 16 bytes; then the data",
	}}
	if s.perTag {
		c.Topic, c.Metadata["tag"] = m.Tag.String(), m.Tag.String()
	}
	return id, s.to.WriteChannel(&c)
}

func (s *mcapSink) message(m *recording.Message) error {
	id, err := s.channel(m)
	if err != nil {
		return err
	}
	s.packet = appendMessage(s.packet[:0], &m.Message)
	return s.write(id, uint32(m.Counter), m.Time)
}

// write writes the packet that was made.
func (s *mcapSink) write(channel uint16, sequence uint32, at time.Time) error {
	ns, err := nanoseconds(at)
	if err != nil {
		return err
	}
	s.next = mcap.Message{ChannelID: channel, Sequence: sequence, LogTime: ns, PublishTime: ns, Data: s.packet}
	return s.to.WriteMessage(&s.next)
}

// eventObject is an event in JSON.
type eventObject struct {
	Time      string     `json:"time"`
	Kind      string     `json:"kind"`
	Publisher *publisher `json:"publisher,omitempty"`
	Tag       *tags.Tag  `json:"tag,omitempty"`
	Tags      string     `json:"tags,omitempty"`
	Count     *uint64    `json:"count,omitempty"`
	Cause     string     `json:"cause,omitempty"`
	Failed    bool       `json:"failed,omitempty"`
	Text      string     `json:"text,omitempty"`
}

func (s *mcapSink) event(e *recording.Event) error {
	o := eventObject{
		Time: e.Time.UTC().Format(time.RFC3339Nano), Kind: e.Kind.String(), Publisher: publisherOf(e.Peer),
		Tags: e.Tags.String(), Failed: e.Failed, Text: strings.ToValidUTF8(e.Text, "?"),
	}
	if e.Kind == recording.Gap || e.Kind == recording.Position {
		o.Tag, o.Count = &e.Tag, &e.Count
	}
	if e.Kind == recording.Gap {
		o.Cause = e.Cause.String()
	}
	var err error
	if s.packet, err = json.Marshal(o); err != nil {
		return fmt.Errorf("an event in JSON: %w", err)
	}
	s.sequence++
	return s.write(eventsChannel, s.sequence, e.Time)
}

func (s *mcapSink) end() error { return s.to.Close() }
