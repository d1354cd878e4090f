// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"fmt"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// Moment is a place in a recording: a time, or how long after its beginning. The zero
// value is none.
type Moment struct {
	at    time.Time
	after time.Duration
	given bool
}

// UnmarshalText reads a time of RFC 3339, or one from the beginning such as 90s.
func (m *Moment) UnmarshalText(text []byte) error {
	s := string(text)
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		*m = Moment{at: at, given: true}
		return nil
	}
	after, err := time.ParseDuration(s)
	if err != nil || after < 0 {
		return fmt.Errorf("got %q, want a time as 2026-11-24T09:30:00Z, or one from the beginning as 90s", s)
	}
	*m = Moment{after: after, given: true}
	return nil
}

// String returns the moment as UnmarshalText reads it.
func (m Moment) String() string {
	if m.absolute() {
		return m.at.Format(time.RFC3339Nano)
	}
	return m.after.String()
}

func (m Moment) absolute() bool { return m.given && !m.at.IsZero() }
func (m Moment) relative() bool { return m.given && m.at.IsZero() }

// in returns the time of the moment in a recording that begins at a time; zero of none.
func (m Moment) in(begin time.Time) time.Time {
	if m.relative() {
		return begin.Add(m.after)
	}
	return m.at
}

// Loops is the flag --loop[=N]: how often the recording is played. The zero value is once.
type Loops int

// endless is --loop without a number.
const endless Loops = -1

// Decode implements kong.MapperValue. The value may be left out; it stands behind =, so
// that a file may have a number for a name.
func (l *Loops) Decode(ctx *kong.DecodeContext) error {
	*l = endless
	token := ctx.Scan.Peek()
	if token.Type != kong.FlagValueToken {
		return nil
	}
	ctx.Scan.Pop()
	switch text := fmt.Sprint(token.Value); text {
	case "true":
	case "false":
		*l = 0
	default:
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("got %q, want how often, 1 or more", text)
		}
		*l = Loops(n)
	}
	return nil
}

// passes returns how often the recording is played; 0: without end.
func (l Loops) passes() int {
	if l == endless {
		return 0
	}
	return max(int(l), 1)
}
