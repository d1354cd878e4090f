// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// A packet is a message or an event in a capture or an MCAP file. Numbers are big-endian:
//
//	bytes  0..7   tag; 0 of an event that has none
//	bytes  8..15  counter; of a gap how many messages are missing, of a position the
//	              counter of the last message before
//	byte  16      version, 1
//	byte  17      kind: 0: a message; otherwise one of recording.EventKind
//	byte  18      status; of a gap the recording.Cause
//	byte  19      flags; bit 0: the id of a request follows; bit 1: failed; bit 2: a
//	              piece of a packet, see appendPiece
//	16 bytes      id of a request, if bit 0 says so
//	the rest      data of a message; of a joined publisher its tags, of other events the
//	              reason, as text
//
// deploy/wireshark/tagbus.lua shows it in Wireshark.
const (
	packetVersion = 1
	packetBytes   = 20
	requestBytes  = 16

	counterAt, versionAt, kindAt, statusAt, flagsAt = 8, 16, 17, 18, 19

	flagRequest, flagFailed, flagPiece = 1, 2, 4
)

// ErrPacket is wrapped by the errors for a packet of the link type USER0 that Convert has
// not written.
var ErrPacket = errors.New("no packet of tagbus: --tag N takes the packets of any capture as they are")

// appendMessage appends a message as a packet.
func appendMessage(b []byte, m *bus.Message) []byte {
	id := m.RequestID()
	var flags byte
	if id != (bus.RequestID{}) {
		flags = flagRequest
	}
	b = binary.BigEndian.AppendUint64(b, uint64(m.Tag))
	b = binary.BigEndian.AppendUint64(b, m.Counter)
	b = append(b, packetVersion, 0, byte(m.Status), flags)
	if flags != 0 {
		bytes := id.Bytes()
		b = append(b, bytes[:]...)
	}
	return append(b, m.Data...)
}

// appendEvent appends an event as a packet.
func appendEvent(b []byte, e *recording.Event) []byte {
	var flags byte
	if e.Failed {
		flags = flagFailed
	}
	text := e.Text
	if e.Kind == recording.Joined {
		text = e.Tags.String()
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.Tag))
	b = binary.BigEndian.AppendUint64(b, e.Count)
	b = append(b, packetVersion, byte(e.Kind), byte(e.Cause), flags)
	return append(b, text...)
}

// parsePacket returns the record in a packet, without publisher and time. Its Data is a
// part of b.
//
//   - Errors: ErrPacket, wrapped with what is wrong.
func parsePacket(b []byte) (recording.Record, error) {
	if len(b) < packetBytes {
		return recording.Record{}, fmt.Errorf("%w: it has %d bytes, and a packet %d or more", ErrPacket, len(b), packetBytes)
	}
	tag, counter := tags.Tag(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[counterAt:])
	kind, status, flags, data := recording.EventKind(b[kindAt]), b[statusAt], b[flagsAt], b[packetBytes:]
	switch {
	case b[versionAt] != packetVersion:
		return recording.Record{}, fmt.Errorf("%w: its version is %d, and this program knows %d", ErrPacket, b[versionAt], packetVersion)
	case kind > recording.Stepped:
		return recording.Record{}, fmt.Errorf("%w: its kind is %d, and this program knows 0 to %d", ErrPacket, kind, recording.Stepped)
	case kind != 0:
		return parseEvent(recording.Event{
			Kind: kind, Tag: tag, Count: counter, Cause: recording.Cause(status), Failed: flags&flagFailed != 0,
		}, string(data))
	}
	m := bus.Message{Tag: tag, Counter: counter, Status: bus.Status(status)}
	if flags&flagRequest != 0 {
		if len(data) < requestBytes {
			return recording.Record{}, fmt.Errorf("%w: it has %d of %d bytes of the id of a request", ErrPacket, len(data), requestBytes)
		}
		m = m.WithRequestID(bus.RequestIDOf([requestBytes]byte(data[:requestBytes])))
		data = data[requestBytes:]
	}
	m.Data = data
	return recording.Record{Message: recording.Message{Message: m}}, nil
}

// parseEvent completes an event by its text.
func parseEvent(e recording.Event, text string) (recording.Record, error) {
	if e.Kind != recording.Joined {
		e.Text = text
		return recording.Record{Event: &e}, nil
	}
	if text == "" {
		return recording.Record{Event: &e}, nil
	}
	var err error
	if e.Tags, err = tags.ParseSet(text); err != nil {
		return recording.Record{}, fmt.Errorf("%w: the tags of its publisher: %w", ErrPacket, err)
	}
	return recording.Record{Event: &e}, nil
}
