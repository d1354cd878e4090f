// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// captureBytes is the longest packet that written captures announce: some
// readers refuse those above it.
const captureBytes = 1 << 30

// pcapFile is a pcap file with times in nanoseconds. Not that of the library: it cuts
// times to 32 bits of seconds, and hides which error a write has failed with.
type pcapFile struct {
	w        io.Writer
	begun    bool
	linkType LinkType // of all packets
	head     [24]byte
}

const (
	pcapMajor = 2
	pcapMinor = 4
)

func (f *pcapFile) begin(l LinkType) error {
	if f.begun {
		return nil
	}
	f.begun, f.linkType = true, l
	b := binary.LittleEndian.AppendUint32(f.head[:0], magicPcapNanos)
	b = binary.LittleEndian.AppendUint16(b, pcapMajor)
	b = binary.LittleEndian.AppendUint16(b, pcapMinor)
	b = binary.LittleEndian.AppendUint64(b, 0) // time zone and accuracy, as everywhere
	b = binary.LittleEndian.AppendUint32(b, captureBytes)
	b = binary.LittleEndian.AppendUint32(b, uint32(l))
	return write(f.w, b)
}

func (f *pcapFile) packet(data []byte, i Info) error {
	if err := f.begin(i.LinkType); err != nil {
		return err
	}
	seconds := i.Time.Unix()
	switch {
	case i.LinkType != f.linkType:
		return fmt.Errorf("%w: it has link type %d, the first one had %d, and the file holds one: use pcapng", ErrUnfit, i.LinkType, f.linkType)
	case seconds < 0 || seconds > math.MaxUint32:
		return fmt.Errorf("%w: its time, %s, is outside of 1970 to 2106: use pcapng", ErrUnfit, i.Time.UTC().Format(time.RFC3339Nano))
	}
	b := binary.LittleEndian.AppendUint32(f.head[:0], uint32(seconds))
	b = binary.LittleEndian.AppendUint32(b, uint32(i.Time.Nanosecond()))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, i.Length)
	return write(f.w, b, data)
}

func (*pcapFile) flush() error { return nil }

// pcapngFile is a pcapng file with an interface for each link type, and times in
// nanoseconds.
type pcapngFile struct {
	w          io.Writer
	ng         *pcapgo.NgWriter // nil before begin
	interfaces map[LinkType]int
}

func (f *pcapngFile) begin(l LinkType) error {
	if f.ng != nil {
		return nil
	}
	f.interfaces = map[LinkType]int{l: 0}
	var err error
	f.ng, err = pcapgo.NewNgWriterInterface(f.w, interfaceOf(l), pcapgo.DefaultNgWriterOptions)
	return err
}

// interfaceOf returns an interface as the library takes it, which counts in nanoseconds
// whatever that says.
func interfaceOf(l LinkType) pcapgo.NgInterface {
	return pcapgo.NgInterface{LinkType: layers.LinkType(l)}
}

func (f *pcapngFile) packet(data []byte, i Info) error {
	if err := f.begin(i.LinkType); err != nil {
		return err
	}
	at, known := f.interfaces[i.LinkType]
	if !known {
		var err error
		if at, err = f.ng.AddInterface(interfaceOf(i.LinkType)); err != nil {
			return err
		}
		f.interfaces[i.LinkType] = at
	}
	if err := f.ng.WritePacket(gopacket.CaptureInfo{
		Timestamp: i.Time, CaptureLength: len(data), Length: int(i.Length), InterfaceIndex: at,
	}, data); err != nil {
		return err
	}
	return f.ng.Flush() // its own buffer: what it holds its caller would count as handed on
}

func (f *pcapngFile) flush() error {
	if f.ng == nil {
		return nil
	}
	return f.ng.Flush()
}
