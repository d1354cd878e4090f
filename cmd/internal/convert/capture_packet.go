// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"

	"tagbus/bus"
	"tagbus/cmd/internal/record"
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// packet makes a record of a packet, the n-th of a file. One that makes none is named.
//
//   - Errors: ErrLinkType, wrapped; those of the recording.
func (i *importer) packet(r *record.Reader, name string, n uint64, packet []byte) error {
	info, err := r.Info()
	if err == nil && i.Tag == nil && info.LinkType != user0 {
		return fmt.Errorf("%s: packet %d has link type %d: %w", sanitize.Text(name), n, info.LinkType, ErrLinkType)
	}
	var rec recording.Record
	switch {
	case err != nil:
	case i.Tag != nil:
		rec, err = i.tagged(info, packet)
	default:
		from := i.peer(r)
		if err := i.joiner.interrupted(packet, from); err != nil {
			i.damagedPacket(name, n, err)
		}
		if packet, err = i.whole(info, packet, from); packet == nil && err == nil {
			return nil
		}
		if err == nil {
			rec, err = recordOf(info, packet, from)
		}
	}
	if err != nil {
		i.damagedPacket(name, n, err)
		return nil
	}
	return i.write(&rec)
}

func (i *importer) damagedPacket(name string, n uint64, err error) {
	i.damage(fmt.Errorf("%s: packet %d: %w", sanitize.Text(name), n, err))
}

// tagged returns a packet of any capture as a message of --tag.
func (i *importer) tagged(info record.Info, packet []byte) (rec recording.Record, err error) {
	if i.message, err = record.AppendHeader(i.message[:0], info, len(packet)); err != nil {
		return rec, err
	}
	i.message = append(i.message, packet...)
	i.counts[*i.Tag]++
	rec.Time = info.Time
	rec.Message.Message = bus.Message{Tag: *i.Tag, Counter: i.counts[*i.Tag], Publisher: i.ours, Data: i.message}
	return rec, nil
}

// whole returns the packet that a packet of a capture is or completes; nil: more of its
// pieces are to come.
func (i *importer) whole(info record.Info, packet []byte, from *bus.Peer) ([]byte, error) {
	if int(info.Length) != len(packet) {
		return nil, fmt.Errorf("%w: the capture has %d of its %d bytes", ErrPacket, len(packet), info.Length)
	}
	return i.joiner.add(packet, from)
}

// recordOf returns the record that a packet of a publisher is.
func recordOf(info record.Info, packet []byte, from *bus.Peer) (recording.Record, error) {
	rec, err := parsePacket(packet)
	switch {
	case err != nil:
	case rec.Event != nil:
		rec.Event.Time, rec.Event.Peer = info.Time, from
	default:
		rec.Time, rec.Publisher = info.Time, from
	}
	return rec, err
}

// peer returns the publisher of the packet that was just read: what the interface says.
func (i *importer) peer(r *record.Reader) *bus.Peer {
	on := r.Interface()
	if on == nil || on.Name == "" && on.Description == "" {
		return nil
	}
	if p, ok := i.peers[on]; ok {
		return p
	}
	if len(i.peers) >= mostPointers {
		clear(i.peers)
	}
	p, ok := described(on.Description)
	if !ok {
		p = bus.Peer{Instance: on.Name, Name: on.Name}
	}
	i.peers[on] = &p
	return &p
}
