// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"fmt"
)

// Interface is where packets of a pcapng file were captured.
type Interface struct {
	Name, Description string

	linkType   LinkType
	snapLen    uint32
	resolution resolution
	offset     int64 // seconds that are added to each time
}

// Kinds of blocks of a pcapng file. The others are passed over.
const (
	blockSection   = 0x0a0d0d0a // the same in both byte orders
	blockInterface = 1
	blockPacket    = 2 // obsolete
	blockSimple    = 3
	blockEnhanced  = 6
)

const (
	byteOrderMagic = 0x1a2b3c4d
	ngMajor        = 1

	blockHeadBytes  = 8  // kind and size
	blockOuterBytes = 12 // and the size again at the end
	sectionBytes    = 16 // of a section header before its options
	interfaceBytes  = 8  // of an interface before its options
	enhancedBytes   = 20 // of a packet before its data
	simpleBytes     = 4

	optionHeadBytes = 4
)

// Options of an interface.
const (
	optionEnd         = 0
	optionName        = 2
	optionDescription = 3
	optionResolution  = 9  // if_tsresol
	optionOffset      = 14 // if_tsoffset
)

// Bounds of what is remembered of a section, whatever it says: more than captures have.
const (
	mostInterfaceBlock = 1 << 20 // bytes
	mostInterfaces     = 1 << 20
	mostInterfaceText  = 64 << 20 // bytes, of all
)

// ngFile is a pcapng file.
type ngFile struct {
	order      binary.ByteOrder // of the section; nil: before the first
	interfaces []*Interface     // of the section
	text       int              // bytes of their names and descriptions
	block      []byte
}

func (f *ngFile) next(in *input) (p capturedPacket, err error) {
	for {
		kind, size, err := f.begin(in)
		if err != nil {
			return p, err
		}
		switch kind {
		case blockSection:
			err = in.skip(size)
		case blockInterface:
			err = f.addInterface(in, size)
		case blockPacket, blockEnhanced:
			return f.packet(in, kind, size)
		case blockSimple:
			return f.simple(in, size)
		default:
			err = in.skip(size)
		}
		if err == nil {
			err = f.end(in, size)
		}
		if err != nil {
			return p, err
		}
	}
}

// begin reads the beginning of a block. Of a section it reads what is in front of the
// options.
//
//   - Result: the bytes up to the size at the end.
//   - Errors: io.EOF, bare, at the end of the file; ErrDamaged; ErrTruncated.
func (f *ngFile) begin(in *input) (kind uint32, size int64, err error) {
	b, err := in.head(blockHeadBytes)
	if err != nil {
		return 0, 0, err
	}
	if binary.LittleEndian.Uint32(b) == blockSection {
		size, err := f.section(in, [4]byte(b[4:]))
		return blockSection, size, err
	}
	if f.order == nil {
		return 0, 0, fmt.Errorf("%w: no section of pcapng begins here", ErrDamaged)
	}
	kind = f.order.Uint32(b)
	total := f.order.Uint32(b[4:])
	if total < blockOuterBytes || total%4 != 0 {
		return 0, 0, fmt.Errorf("%w: a block of %d bytes", ErrDamaged, total)
	}
	return kind, int64(total) - blockOuterBytes, nil
}

// section reads the beginning of a section, which has its own byte order and interfaces.
func (f *ngFile) section(in *input, total [4]byte) (size int64, err error) {
	b, err := in.head(sectionBytes)
	if err != nil {
		return 0, truncatedBlock(err)
	}
	switch uint32(byteOrderMagic) {
	case binary.LittleEndian.Uint32(b):
		f.order = binary.LittleEndian
	case binary.BigEndian.Uint32(b):
		f.order = binary.BigEndian
	default:
		return 0, fmt.Errorf("%w: a section of pcapng with the byte order %x", ErrDamaged, b[:4])
	}
	f.interfaces, f.text = nil, 0
	if major, minor := f.order.Uint16(b[4:]), f.order.Uint16(b[6:]); major != ngMajor {
		return 0, fmt.Errorf("%w: pcapng version %d.%d, and this program reads %d", ErrDamaged, major, minor, ngMajor)
	}
	n := f.order.Uint32(total[:])
	if n < blockOuterBytes+sectionBytes || n%4 != 0 {
		return 0, fmt.Errorf("%w: a section header of %d bytes", ErrDamaged, n)
	}
	return int64(n) - blockOuterBytes - sectionBytes, nil
}

// end reads the size at the end of a block.
func (f *ngFile) end(in *input, _ int64) error {
	if _, err := in.head(blockOuterBytes - blockHeadBytes); err != nil {
		return truncatedBlock(err)
	}
	return nil
}

// truncatedBlock is the error for a block that ends early.
func truncatedBlock(err error) error {
	if isEnd(err) {
		return truncated(0, blockOuterBytes-blockHeadBytes)
	}
	return err
}

// addInterface reads an interface.
func (f *ngFile) addInterface(in *input, size int64) (err error) {
	switch {
	case size < interfaceBytes:
		return fmt.Errorf("%w: an interface of %d bytes", ErrDamaged, size)
	case size > mostInterfaceBlock:
		return fmt.Errorf("%w: an interface of %d bytes", ErrTooLong, size)
	case len(f.interfaces) >= mostInterfaces:
		return fmt.Errorf("%w: more than %d interfaces in a section", ErrTooLong, mostInterfaces)
	}
	if f.block, err = in.read(f.block[:0], int(size)); err != nil {
		return err
	}
	i := &Interface{linkType: LinkType(f.order.Uint16(f.block)), snapLen: f.order.Uint32(f.block[4:]), resolution: micros}
	if err := f.options(i, f.block[interfaceBytes:]); err != nil {
		return fmt.Errorf("%w: interface %d: %w", ErrDamaged, len(f.interfaces), err)
	}
	if f.text += len(i.Name) + len(i.Description); f.text > mostInterfaceText {
		return fmt.Errorf("%w: more than %d bytes of names of interfaces in a section", ErrTooLong, mostInterfaceText)
	}
	f.interfaces = append(f.interfaces, i)
	return nil
}

// options reads what the options say of an interface.
func (f *ngFile) options(i *Interface, b []byte) error {
	for len(b) >= optionHeadBytes {
		code, size := f.order.Uint16(b), int(f.order.Uint16(b[2:]))
		if code == optionEnd {
			return nil
		}
		if size > len(b)-optionHeadBytes {
			return fmt.Errorf("option %d has %d of %d bytes", code, len(b)-optionHeadBytes, size)
		}
		value := b[optionHeadBytes : optionHeadBytes+size]
		switch code {
		case optionName:
			i.Name = string(value)
		case optionDescription:
			i.Description = string(value)
		case optionResolution:
			if size != 1 {
				return fmt.Errorf("the resolution of its times has %d bytes, want 1", size)
			}
			i.resolution = resolution(value[0])
		case optionOffset:
			if size != 8 {
				return fmt.Errorf("the offset of its times has %d bytes, want 8", size)
			}
			i.offset = int64(f.order.Uint64(value))
		}
		b = b[min(len(b), optionHeadBytes+(size+3)&^3):]
	}
	return nil
}

// packet reads what is in front of the data of a packet.
func (f *ngFile) packet(in *input, kind uint32, size int64) (p capturedPacket, err error) {
	if size < enhancedBytes {
		return p, fmt.Errorf("%w: a packet in a block of %d bytes", ErrDamaged, size)
	}
	b, err := in.head(enhancedBytes)
	if err != nil {
		return p, truncatedBlock(err)
	}
	number := f.order.Uint32(b)
	if kind == blockPacket {
		number = uint32(f.order.Uint16(b)) // behind it, how many were dropped
	}
	ticks := uint64(f.order.Uint32(b[4:]))<<32 | uint64(f.order.Uint32(b[8:]))
	p = capturedPacket{captured: f.order.Uint32(b[12:]), length: f.order.Uint32(b[16:])}
	i, err := f.of(number)
	if err != nil {
		return p, err
	}
	p.on, p.linkType = i, i.linkType
	p.time = moment{known: true, resolution: i.resolution, seconds: i.offset, ticks: ticks}
	return p, p.within(size - enhancedBytes)
}

// simple reads what is in front of the data of a packet without a time.
func (f *ngFile) simple(in *input, size int64) (p capturedPacket, err error) {
	if size < simpleBytes {
		return p, fmt.Errorf("%w: a packet in a block of %d bytes", ErrDamaged, size)
	}
	b, err := in.head(simpleBytes)
	if err != nil {
		return p, truncatedBlock(err)
	}
	p.length = f.order.Uint32(b)
	i, err := f.of(0)
	if err != nil {
		return p, err
	}
	p.on, p.linkType = i, i.linkType
	p.captured = p.length
	if i.snapLen > 0 {
		p.captured = min(p.captured, i.snapLen)
	}
	p.captured = min(p.captured, uint32(size-simpleBytes))
	return p, p.within(size - simpleBytes)
}

// of returns an interface by its number.
func (f *ngFile) of(number uint32) (*Interface, error) {
	if uint64(number) >= uint64(len(f.interfaces)) {
		return nil, fmt.Errorf("%w: a packet of interface %d, and the section has %d", ErrDamaged, number, len(f.interfaces))
	}
	return f.interfaces[number], nil
}

// within sets what follows the data in their block.
func (p *capturedPacket) within(size int64) error {
	if uint64(p.captured) > uint64(size) {
		return fmt.Errorf("%w: a packet of %d bytes in a block with room for %d", ErrDamaged, p.captured, size)
	}
	p.behind = size - int64(p.captured) + blockOuterBytes - blockHeadBytes
	return nil
}
