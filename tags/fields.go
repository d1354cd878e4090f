// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"errors"
	"fmt"
)

// Direction says which way the messages of a tag flow.
type Direction uint8

// The two directions.
const (
	ToHost     Direction = 0 // from the detector to the host: readout
	ToDetector Direction = 1 // from the host to the detector (toflx): commands, clock
)

// String returns toHost or toDetector, and Direction(N) for a value that is neither.
func (d Direction) String() string {
	switch d {
	case ToHost:
		return "toHost"
	case ToDetector:
		return "toDetector"
	default:
		return fmt.Sprintf("Direction(%d)", uint8(d))
	}
}

// Fields is a Tag taken apart, to build a tag or to change some fields of one.
//
// The fields are literal: a zero Version is version 0, not a default, so that
// t.Fields().Tag() is t for every tag. Set Version to FormatVersion for a tag that
// FELIX software reads as its own. The zero value is tag 0.
type Fields struct {
	Version   uint8     // 0..15
	Detector  uint8     // 0..255
	Connector uint16    // 0..65535
	Virtual   bool      // not a physical e-link
	Link      uint16    // 0..8191
	ELink     uint8     // 0..63
	Direction Direction // ToHost or ToDetector
	Protocol  uint8     // 0..127
	Stream    uint8     // 0..255
}

// Tag packs the fields.
//
//   - Errors: one *FieldError per field above its limit, joined; the tag is then 0.
func (f Fields) Tag() (Tag, error) {
	var virtual uint64
	if f.Virtual {
		virtual = 1
	}
	return pack([fieldCount]uint64{
		fieldVersion:   uint64(f.Version),
		fieldDetector:  uint64(f.Detector),
		fieldConnector: uint64(f.Connector),
		fieldVirtual:   virtual,
		fieldLink:      uint64(f.Link),
		fieldELink:     uint64(f.ELink),
		fieldDirection: uint64(f.Direction),
		fieldProtocol:  uint64(f.Protocol),
		fieldStream:    uint64(f.Stream),
	})
}

// pack shifts each value into its field, or reports all that do not fit.
func pack(values [fieldCount]uint64) (Tag, error) {
	var t Tag
	var errs []error
	for i, v := range values {
		if limit := layout[i].limit(); v > limit {
			errs = append(errs, &FieldError{Field: layout[i].name, Value: v, Limit: limit})
		}
		t |= Tag(v << layout[i].shift)
	}
	if errs != nil {
		return 0, errors.Join(errs...)
	}
	return t, nil
}

// Fields takes the tag apart.
func (t Tag) Fields() Fields {
	return Fields{
		Version:   t.Version(),
		Detector:  t.Detector(),
		Connector: t.Connector(),
		Virtual:   t.Virtual(),
		Link:      t.Link(),
		ELink:     t.ELink(),
		Direction: t.Direction(),
		Protocol:  t.Protocol(),
		Stream:    t.Stream(),
	}
}
