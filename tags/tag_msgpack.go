package tags

import (
	"encoding/binary"
	"math"
)

// First bytes of the msgpack integer encodings; a byte below 0x80 is the number itself.
const (
	msgpackUint8  = 0xcc
	msgpackUint16 = 0xcd
	msgpackUint32 = 0xce
	msgpackUint64 = 0xcf
	msgpackInt8   = 0xd0
	msgpackInt16  = 0xd1
	msgpackInt32  = 0xd2
	msgpackInt64  = 0xd3
)

// MarshalMsgpack returns the tag as the shortest msgpack unsigned integer, 1 to 9
// bytes. It makes Tag a Marshaler of vmihailenco/msgpack, which would otherwise
// choose the text. The error is always nil.
func (t Tag) MarshalMsgpack() ([]byte, error) {
	b := make([]byte, 0, 9)
	switch {
	case t < 0x80:
		return append(b, byte(t)), nil
	case t <= math.MaxUint8:
		return append(b, msgpackUint8, byte(t)), nil
	case t <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, msgpackUint16), uint16(t)), nil
	case t <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, msgpackUint32), uint32(t)), nil
	default:
		return binary.BigEndian.AppendUint64(append(b, msgpackUint64), uint64(t)), nil
	}
}

// UnmarshalMsgpack sets the tag from one msgpack integer in any of its encodings;
// the tag is unchanged on an error.
//
//   - Errors: *DecodeError if data is negative, not an integer, cut short, or longer
//     than one value.
func (t *Tag) UnmarshalMsgpack(data []byte) error {
	if len(data) == 0 {
		return &DecodeError{Reason: "no msgpack value where a tag is wanted"}
	}
	code, body := data[0], data[1:]
	want := 0
	switch code {
	case msgpackUint8, msgpackInt8:
		want = 1
	case msgpackUint16, msgpackInt16:
		want = 2
	case msgpackUint32, msgpackInt32:
		want = 4
	case msgpackUint64, msgpackInt64:
		want = 8
	default:
		switch {
		case code >= 0xe0:
			return &DecodeError{Reason: "negative msgpack integer where a tag is wanted"}
		case code >= 0x80:
			return &DecodeError{Reason: "msgpack value is not an integer, a tag is wanted"}
		}
	}
	if len(body) < want {
		return &DecodeError{Offset: len(data), Reason: "msgpack integer is cut short"}
	}
	if len(body) > want {
		return &DecodeError{Offset: 1 + want, Reason: "bytes after the msgpack integer"}
	}
	if code >= msgpackInt8 && code <= msgpackInt64 && body[0]&0x80 != 0 {
		return &DecodeError{Reason: "negative msgpack integer where a tag is wanted"}
	}
	v := uint64(code)
	if want > 0 {
		v = 0
		for _, c := range body {
			v = v<<8 | uint64(c)
		}
	}
	*t = Tag(v)
	return nil
}
