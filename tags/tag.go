// SPDX-License-Identifier: Apache-2.0

package tags

// Tag names messages. The package comment draws its layout.
//
// Every value is legal, the zero value too. Tags are ordered as numbers.
type Tag uint64

// FormatVersion is the version that FELIX ids carry.
const FormatVersion uint8 = 1

// MaxTag is the largest tag.
const MaxTag Tag = 1<<64 - 1

// field is one bit field of a Tag.
type field struct {
	name  string
	shift uint8
	width uint8
}

// limit is the largest value of the field.
func (f field) limit() uint64 { return 1<<f.width - 1 }

// mask has a one in each bit of the field.
func (f field) mask() Tag { return Tag(f.limit() << f.shift) }

// of extracts the field of t.
func (f field) of(t Tag) uint64 { return uint64(t) >> f.shift & f.limit() }

// Indices into layout, and positions in the slash form.
const (
	fieldVersion = iota
	fieldDetector
	fieldConnector
	fieldVirtual
	fieldLink
	fieldELink
	fieldDirection
	fieldProtocol
	fieldStream
	fieldCount
)

// layout is the one place that knows where a field lies. It is part of the wire
// protocol (FELIX ids come from elsewhere) and must not change.
var layout = [fieldCount]field{
	fieldVersion:   {"version", 60, 4},
	fieldDetector:  {"detector", 52, 8},
	fieldConnector: {"connector", 36, 16},
	fieldVirtual:   {"virtual", 35, 1},
	fieldLink:      {"link", 22, 13},
	fieldELink:     {"elink", 16, 6},
	fieldDirection: {"direction", 15, 1},
	fieldProtocol:  {"protocol", 8, 7},
	fieldStream:    {"stream", 0, 8},
}

// Version returns the layout version, 0..15; FELIX ids have FormatVersion.
func (t Tag) Version() uint8 { return uint8(layout[fieldVersion].of(t)) }

// Detector returns the detector id (did).
func (t Tag) Detector() uint8 { return uint8(layout[fieldDetector].of(t)) }

// Connector returns the connector id (cid).
func (t Tag) Connector() uint16 { return uint16(layout[fieldConnector].of(t)) }

// Virtual reports whether the tag is no physical e-link but an extra stream.
func (t Tag) Virtual() bool { return layout[fieldVirtual].of(t) == 1 }

// Link returns the GBT or lpGBT link id, 0..8191.
func (t Tag) Link() uint16 { return uint16(layout[fieldLink].of(t)) }

// ELink returns the e-link of the link, 0..63.
func (t Tag) ELink() uint8 { return uint8(layout[fieldELink].of(t)) }

// Direction returns which way messages flow.
func (t Tag) Direction() Direction { return Direction(layout[fieldDirection].of(t)) }

// Protocol returns the protocol id, 0..127.
func (t Tag) Protocol() uint8 { return uint8(layout[fieldProtocol].of(t)) }

// Stream returns the stream id (sid) within the e-link.
func (t Tag) Stream() uint8 { return uint8(layout[fieldStream].of(t)) }

// Channel returns virtual, link and e-link as one number of 20 bits, the key by
// which detector software (YARR, for one) looks up a channel.
func (t Tag) Channel() uint32 { return uint32(t >> 16 & 0xfffff) }
