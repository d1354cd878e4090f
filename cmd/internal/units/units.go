// SPDX-License-Identifier: Apache-2.0

// Package units reads and prints the quantities of the command line: sizes in
// bytes, rates per second, and counts.
//
// A number is decimal, with an optional fraction and an optional suffix:
//
//	k M G        times 1000, 1000², 1000³
//	KiB MiB GiB  times 1024, 1024², 1024³ (sizes only; also K, Ki without B)
//	kB MB GB     times 1000, 1000², 1000³ (sizes only)
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrSyntax is wrapped by the errors of this package: the text is not a
// quantity of the wanted kind. Correct it.
var ErrSyntax = errors.New("not a quantity")

// Bytes is a size. Its text form is a number with an optional suffix.
type Bytes int

// mostBytes is the largest size: where an int has 32 bits, 2 GiB less a byte.
const mostBytes = min(1<<62, math.MaxInt)

// UnmarshalText reads a size from 0 to mostBytes that is a whole number.
//
//   - Errors: one that wraps ErrSyntax, and b is unchanged.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := parse(string(text), byteSuffixes)
	if err != nil {
		return err
	}
	if n != math.Trunc(n) || n < 0 {
		return fmt.Errorf("%w of whole bytes: %q", ErrSyntax, text)
	}
	if n > mostBytes {
		return fmt.Errorf("%w: %q: want at most %d bytes", ErrSyntax, text, mostBytes)
	}
	*b = Bytes(n)
	return nil
}

// String returns the size with three digits and a binary suffix.
func (b Bytes) String() string { return formatMemory(float64(b)) }

// Rate is a number of events per second; 0 means without limit.
type Rate float64

// UnmarshalText reads a rate above 0.
//
//   - Errors: one that wraps ErrSyntax, and r is unchanged.
func (r *Rate) UnmarshalText(text []byte) error {
	n, err := parse(string(text), countSuffixes)
	if err != nil {
		return err
	}
	if n <= 0 {
		return fmt.Errorf("%w above 0: %q", ErrSyntax, text)
	}
	*r = Rate(n)
	return nil
}

// Count is a number of messages; 0 means without limit.
type Count uint64

// UnmarshalText reads a whole number from 1 to 2^62.
//
//   - Errors: one that wraps ErrSyntax, and c is unchanged.
func (c *Count) UnmarshalText(text []byte) error {
	n, err := parse(string(text), countSuffixes)
	if err != nil {
		return err
	}
	if n != math.Trunc(n) || n < 1 || n > 1<<62 {
		return fmt.Errorf("%w that is a whole number above 0: %q", ErrSyntax, text)
	}
	*c = Count(n)
	return nil
}

type suffix struct {
	text   string
	factor float64
}

// Longer suffixes stand before those that they end with.
var (
	countSuffixes = []suffix{{"k", 1e3}, {"M", 1e6}, {"G", 1e9}}
	byteSuffixes  = []suffix{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"kB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"B", 1},
		{"Ki", 1 << 10},
		{"Mi", 1 << 20},
		{"Gi", 1 << 30},
		{"K", 1 << 10},
		{"k", 1e3},
		{"M", 1e6},
		{"G", 1e9},
	}
)

func parse(text string, suffixes []suffix) (float64, error) {
	digits, factor := text, 1.0
	for _, s := range suffixes {
		if rest, ok := strings.CutSuffix(text, s.text); ok {
			digits, factor = rest, s.factor
			break
		}
	}
	// ParseFloat reads more than people mean by a number: inf, 0x1p3, 1_0.
	if positive, ok := strings.CutPrefix(digits, "-"); ok {
		digits, factor = positive, -factor
	}
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, syntaxError(text, suffixes)
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, syntaxError(text, suffixes)
	}
	return n * factor, nil
}

func syntaxError(text string, suffixes []suffix) error {
	var names []string
	for _, s := range suffixes {
		names = append(names, s.text)
	}
	return fmt.Errorf("%w: %q: want a number with an optional suffix %s", ErrSyntax, text, strings.Join(names, " "))
}

// formatMemory returns n bytes of memory with three digits and a binary suffix: 4.00 KiB.
func formatMemory(n float64) string {
	return scaled(n, []suffix{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}, "B")
}

// FormatBytes returns n bytes of data in decimal units, as networks and disks count
// them: 1.25 GB.
func FormatBytes(n float64) string {
	return scaled(n, []suffix{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}}, "B")
}

// FormatByteRate returns n bytes per second in the same units: 1.25 GB/s.
func FormatByteRate(n float64) string { return FormatBytes(n) + "/s" }

// scaled returns n with three digits in the first unit that is not larger, or as a whole
// number of the smallest.
func scaled(n float64, units []suffix, smallest string) string {
	for _, s := range units {
		if n >= s.factor {
			return digits(n/s.factor) + " " + s.text
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + " " + smallest
}

// FormatRate returns n per second with three digits: 1.25 M/s.
func FormatRate(n float64) string {
	for _, s := range []suffix{{"M/s", 1e6}, {"k/s", 1e3}} {
		if n >= s.factor {
			return digits(n/s.factor) + " " + s.text
		}
	}
	return digits(n) + " /s"
}

// FormatCount returns n with a comma after each three digits: 2,000,000.
func FormatCount(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// FormatDuration returns d with three digits.
func FormatDuration(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return digits(d.Seconds()) + " s"
	default:
		return digits(d.Seconds()*1e3) + " ms"
	}
}

// digits returns n with three significant digits, and all before the point.
func digits(n float64) string {
	switch {
	case n >= 100:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n >= 10:
		return strconv.FormatFloat(n, 'f', 1, 64)
	default:
		return strconv.FormatFloat(n, 'f', 2, 64)
	}
}

// FormatNumber returns a number of things: 1 subscriber, 1,234 subscribers, 2 entries.
func FormatNumber[T int | int64 | uint64](n T, thing string) string {
	switch stem, isY := strings.CutSuffix(thing, "y"); {
	case n == 1:
	case isY:
		thing = stem + "ies"
	default:
		thing += "s"
	}
	return FormatCount(uint64(n)) + " " + thing
}

// FormatKnown returns a number as it is, and "" of 0, which is unknown.
func FormatKnown(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// FormatKnownFigure returns a figure in so many units, as FormatFigure does, and "" of nil, which is unknown.
func FormatKnownFigure(n *float64, unit float64) string {
	if n == nil {
		return ""
	}
	return FormatFigure(*n / unit)
}

// FormatFigure returns n with three digits, and a comma after each three before the point:
// 1,250,000. What is small is not 0: <0.01.
func FormatFigure(n float64) string {
	switch {
	case n > 0 && n < 0.01:
		return "<0.01"
	case n >= 99.95: // else it would have four digits
		return FormatCount(uint64(n + 0.5))
	default:
		return digits(n)
	}
}
