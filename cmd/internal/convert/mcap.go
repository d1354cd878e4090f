// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tagbus/bus"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/units"
	"tagbus/internal/payload"
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

	// encoding is the message encoding of packets, whose schema is this text.
	encoding     = "tagbus"
	packetSchema = "big-endian: tag u64, counter u64, version u8 = 1, kind u8 = 0, status u8, flags u8; if bit 0 of the flags is set the id of a request, 16 bytes; then the data"

	// byFields is the message encoding of payloads that are described.
	byFields = "protobuf"

	eventsSchemaID, packetSchemaID, firstSchemaID = 1, 2, 3

	// mostSeries is how many channels there can be beside that of the events.
	mostSeries = 1<<16 - 1

	leastChunk, chunkPerChannel = 1 << 20, 512 // bytes
)

// channelKey is what the messages of a channel have in common. With a channel per publisher
// the tag is 0.
type channelKey struct {
	publisher int
	tag       tags.Tag
	payload   *payload.Payload // nil: packets
}

// mcapSink writes an MCAP file: a channel for each tag and publisher, or for each publisher
// if there are too many.
type mcapSink struct {
	to       *mcap.Writer
	perTag   bool
	numbers  numbers
	channels map[channelKey]uint16
	payloads map[tags.Tag]*payload.Payload // what describes the tag; nil: nothing
	all      payload.Set
	short    map[shortKey]*shortCount
	next     mcap.Message
	packet   []byte
	sequence uint32 // of the events
}

// shortKey is what a payload lacks.
type shortKey struct{ payload, field string }

// shortCount counts payloads that lack it.
type shortCount struct {
	count uint64
	first tags.Tag
	error error
}

func newMCAPSink(w io.Writer, l layout, compression mcap.CompressionFormat, about []map[string]string, payloads payload.Set) (*mcapSink, error) {
	to, err := mcap.NewWriter(w, &mcap.WriterOptions{
		IncludeCRC: true, Chunked: true, ChunkSize: max(leastChunk, int64(l.channels)*chunkPerChannel),
		Compression: compression, CompressionLevel: mcap.CompressionLevelFastest, OverrideLibrary: true,
	})
	if err != nil {
		return nil, err
	}
	s := &mcapSink{
		to: to, perTag: l.perTag, channels: make(map[channelKey]uint16, l.channels), short: make(map[shortKey]*shortCount),
		payloads: make(map[tags.Tag]*payload.Payload), all: payloads,
	}
	if !l.perTag {
		s.all = nil
	}
	err = to.WriteHeader(&mcap.Header{Profile: encoding, Library: "tagbus rec convert"})
	for _, a := range about {
		if err == nil {
			err = to.WriteMetadata(&mcap.Metadata{Name: "tagbus.recording", Metadata: a})
		}
	}
	if err == nil {
		err = to.WriteSchema(&mcap.Schema{ID: eventsSchemaID, Name: "tagbus.Event", Encoding: "jsonschema", Data: []byte(eventsSchema)})
	}
	if err == nil {
		err = to.WriteSchema(&mcap.Schema{ID: packetSchemaID, Name: "tagbus.Message", Encoding: encoding, Data: []byte(packetSchema)})
	}
	for i, p := range s.all {
		if err == nil {
			err = to.WriteSchema(&mcap.Schema{ID: uint16(firstSchemaID + i), Name: payload.Package + "." + p.Name, Encoding: byFields, Data: p.Descriptor()})
		}
	}
	if err == nil {
		err = to.WriteChannel(&mcap.Channel{ID: eventsChannel, SchemaID: eventsSchemaID, Topic: eventsTopic, MessageEncoding: "json"})
	}
	return s, err
}

// channel returns the channel of a message, and writes what it is before its first.
//
//   - p: what describes the message; nil: it is a packet.
func (s *mcapSink) channel(m *recording.Message, p *payload.Payload) (uint16, error) {
	number, _ := s.numbers.of(m.Publisher)
	key := channelKey{publisher: number, payload: p}
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
	c := mcap.Channel{ID: id, SchemaID: packetSchemaID, MessageEncoding: encoding, Topic: "tagbus/" + shown(m.Publisher), Metadata: map[string]string{
		"publisher": describe(m.Publisher),
	}}
	if s.perTag {
		c.Topic, c.Metadata["tag"] = m.Tag.String(), m.Tag.String()
	}
	if p != nil {
		s.describe(&c, p)
		return id, s.to.WriteChannel(&c)
	}
	c.Metadata["header"] = packetSchema
	if s.payloads[m.Tag] != nil { // beside those that have all fields
		c.Topic += "/raw"
	}
	return id, s.to.WriteChannel(&c)
}

// describe makes a channel one of a payload.
func (s *mcapSink) describe(c *mcap.Channel, p *payload.Payload) {
	c.SchemaID, c.MessageEncoding = uint16(firstSchemaID+slices.Index(s.all, p)), byFields
	for i := range p.Fields {
		if f := &p.Fields[i]; f.Unit != "" {
			c.Metadata["unit."+f.Name] = f.Unit
		}
	}
}

// payloadOf returns what describes a tag; nil: nothing.
func (s *mcapSink) payloadOf(tag tags.Tag) *payload.Payload {
	if len(s.all) == 0 {
		return nil
	}
	p, ok := s.payloads[tag]
	if !ok {
		p = s.all.Of(tag)
		s.payloads[tag] = p
	}
	return p
}

// message writes a message: its fields where they are described, otherwise a packet.
func (s *mcapSink) message(m *recording.Message) error {
	data, p := m.Data, s.payloadOf(m.Tag)
	if p != nil {
		if packet, err := record.Open(data); err == nil {
			data = packet.Data
		}
		if err := p.Check(data); err != nil {
			s.shorter(m.Tag, p, err)
			p = nil
		}
	}
	id, err := s.channel(m, p)
	if err != nil {
		return err
	}
	if p == nil {
		s.packet = appendMessage(s.packet[:0], &m.Message)
		return s.write(id, uint32(m.Counter), m.Time)
	}
	e := payload.Envelope{Tag: uint64(m.Tag), Counter: m.Counter, Status: uint32(m.Status)}
	if request := m.RequestID(); request != (bus.RequestID{}) {
		bytes := request.Bytes()
		e.Request = bytes[:]
	}
	if len(data) != len(m.Data) || !p.IsCovered(data) {
		e.Data = m.Data
	}
	s.packet = p.AppendProto(s.packet[:0], &e, data)
	return s.write(id, uint32(m.Counter), m.Time)
}

// shorter counts a payload that is shorter than its description.
func (s *mcapSink) shorter(tag tags.Tag, p *payload.Payload, err error) {
	key := shortKey{payload: p.Name}
	if short := (*payload.ShortError)(nil); errors.As(err, &short) {
		key.field = short.Field
	}
	if s.short[key] == nil {
		s.short[key] = &shortCount{first: tag, error: err}
	}
	s.short[key].count++
}

// notes returns what was not as it is described.
func (s *mcapSink) notes() (notes []string) {
	for _, c := range s.short {
		notes = append(notes, fmt.Sprintf("%s as they are, on topics that end in /raw: %v (the first of tag %v)", units.FormatNumber(c.count, "message"), c.error, c.first))
	}
	slices.Sort(notes)
	return notes
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
		Time: e.Time.UTC().Format(printer.TimeFormat), Kind: e.Kind.String(), Publisher: publisherOf(e.Peer),
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
