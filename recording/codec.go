// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"

	"tagbus/internal/sanitize"
)

// Codec is how the body of a block is compressed. The numbers are those of the file.
type Codec uint8

const (
	// None stores the records as they are.
	None Codec = iota

	// S2 is fast: it compresses gigabytes a second on one processor.
	S2

	// Zstd compresses better, at a fraction of the speed.
	Zstd

	codecs
)

var codecNames = [codecs]string{"none", "s2", "zstd"}

// ParseCodec reads the text form: none, s2 or zstd.
//
// Errors: ErrInvalidConfig, wrapped with the text and the forms that exist.
func ParseCodec(text string) (Codec, error) {
	for c, name := range codecNames {
		if name == text {
			return Codec(c), nil
		}
	}
	return None, fmt.Errorf("%w: codec %s: want none, s2 or zstd", ErrInvalidConfig, sanitize.Text(text))
}

// String returns the text form.
func (c Codec) String() string {
	if c < codecs {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", int(c))
}

// MarshalText implements encoding.TextMarshaler.
func (c Codec) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, by ParseCodec.
//
// Errors: ErrInvalidConfig, wrapped.
func (c *Codec) UnmarshalText(text []byte) (err error) {
	*c, err = ParseCodec(string(text))
	return err
}
