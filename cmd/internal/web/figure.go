// SPDX-License-Identifier: Apache-2.0

package web

import "encoding/json"

// figure is a rate, as the page has it. One that is not known is no 0: a process that does not
// answer, or was not asked before, has none.
type figure float64

const noFigure figure = -1

func (f figure) known() bool { return f >= 0 }

// IsZero reports whether JSON leaves the figure out of an object.
func (f figure) IsZero() bool { return !f.known() }

// MarshalJSON implements json.Marshaler: in a list, what is not known is null.
func (f figure) MarshalJSON() ([]byte, error) {
	if !f.known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *figure) UnmarshalJSON(text []byte) error {
	if *f = noFigure; string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, (*float64)(f))
}

// plus adds what is known.
func (f figure) plus(o figure) figure {
	switch {
	case !f.known():
		return o
	case !o.known():
		return f
	default:
		return figure(round(float64(f + o)))
	}
}
