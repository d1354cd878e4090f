// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"tagbus/bus"
	"tagbus/recording"
)

// pcapngSink writes a capture: an interface for each publisher, in it a packet for each
// message and event, or several for a long one.
type pcapngSink struct {
	to      *pcapgo.NgWriter // nil before the first record
	w       io.Writer
	comment string
	numbers numbers
	packet  []byte
	piece   []byte // of a packet that is too long
}

// application is how the file names the program that has written it.
const application = "tagbus"

func newPcapngSink(w io.Writer, about string) *pcapngSink {
	return &pcapngSink{w: w, comment: about}
}

// interfaceOf returns the interface of a publisher.
func interfaceOf(p *bus.Peer) pcapgo.NgInterface {
	return pcapgo.NgInterface{Name: shown(p), Description: describe(p), LinkType: layers.LinkType(user0)}
}

func (s *pcapngSink) begin(p *bus.Peer) error {
	var err error
	s.to, err = pcapgo.NewNgWriterInterface(s.w, interfaceOf(p), pcapgo.NgWriterOptions{
		SectionInfo: pcapgo.NgSectionInfo{Application: application, Comment: s.comment},
	})
	return err
}

// write writes the packet that was made.
func (s *pcapngSink) write(p *bus.Peer, at time.Time) error {
	if _, err := nanoseconds(at); err != nil {
		return err
	}
	number, isNew := s.numbers.of(p)
	switch {
	case s.to == nil:
		if err := s.begin(p); err != nil {
			return err
		}
	case isNew:
		if _, err := s.to.AddInterface(interfaceOf(p)); err != nil {
			return err
		}
	}
	info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(s.packet), Length: len(s.packet), InterfaceIndex: number}
	if len(s.packet) > mostCaptured {
		return s.writePieces(info)
	}
	return s.to.WritePacket(info, s.packet)
}

// writePieces writes the packet that was made, and is too long for Wireshark.
func (s *pcapngSink) writePieces(info gopacket.CaptureInfo) error {
	for at := 0; at < len(s.packet)-frontOf(s.packet); {
		s.piece, at = appendPiece(s.piece[:0], s.packet, at)
		info.CaptureLength, info.Length = len(s.piece), len(s.piece)
		if err := s.to.WritePacket(info, s.piece); err != nil {
			return err
		}
	}
	return nil
}

func (s *pcapngSink) message(m *recording.Message) error {
	s.packet = appendMessage(s.packet[:0], &m.Message)
	return s.write(m.Publisher, m.Time)
}

func (s *pcapngSink) event(e *recording.Event) error {
	s.packet = appendEvent(s.packet[:0], e)
	return s.write(e.Peer, e.Time)
}

func (s *pcapngSink) end() error {
	if s.to == nil {
		if err := s.begin(nil); err != nil {
			return err
		}
	}
	return s.to.Flush()
}
