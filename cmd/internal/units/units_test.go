// SPDX-License-Identifier: Apache-2.0

package units_test

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"tagbus/cmd/internal/units"
)

func TestUnmarshalText(t *testing.T) {
	const most = min(1<<62, math.MaxInt) // 2 GiB less a byte where an int has 32 bits
	size, rate, count := new(units.Bytes), new(units.Rate), new(units.Count)
	tests := []struct {
		name string
		to   encoding.TextUnmarshaler
		text string
		want float64
		bad  string // part of the error
	}{
		{"a plain number of bytes", size, "4096", 4096, ""},
		{"binary bytes", size, "4KiB", 4096, ""},
		{"binary megabytes with a fraction", size, "1.5MiB", 3 << 19, ""},
		{"the short binary form", size, "4K", 4096, ""},
		{"decimal bytes", size, "2MB", 2e6, ""},
		{"zero bytes", size, "0", 0, ""},
		{"half a byte", size, "0.5", 0, `not a quantity of whole bytes: "0.5"`},
		{"an unknown suffix", size, "4Q", 0, `not a quantity: "4Q": want a number with an optional suffix KiB`},
		{"a negative size", size, "-1", 0, "not a quantity"},
		{"no digits", size, "KiB", 0, "not a quantity"},
		{"nothing", size, "", 0, "not a quantity"},
		{"hexadecimal", size, "0x10", 0, "not a quantity"},
		{"more than memory can have", size, "99999999999GiB", 0, fmt.Sprintf(`"99999999999GiB": want at most %d bytes`, most)},
		{"the most", size, "2147483647", 1<<31 - 1, ""},
		{"more than an int has", size, strconv.FormatUint(math.MaxInt+1, 10), 0, fmt.Sprintf(": want at most %d bytes", most)},
		{"a rate with a suffix", rate, "50k", 50000, ""},
		{"a rate with fraction and suffix", rate, "1.5M", 1.5e6, ""},
		{"less than one a second", rate, "0.1", 0.1, ""},
		{"a rate of zero", rate, "0", 0, "not a quantity above 0"},
		{"a rate in bytes", rate, "5KiB", 0, "want a number with an optional suffix k M G"},
		{"infinity", rate, "inf", 0, "not a quantity"},
		{"two points", rate, "1.2.3", 0, "not a quantity"},
		{"a count", count, "2M", 2e6, ""},
		{"no message", count, "0", 0, "whole number above 0"},
		{"half a message", count, "1.5", 0, "whole number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			*size, *rate, *count = 0, 0, 0
			if test.bad != "" {
				*size = 7
			}
			err := test.to.UnmarshalText([]byte(test.text))
			got := float64(*size) + float64(*rate) + float64(*count)
			switch {
			case test.bad == "" && (err != nil || got != test.want):
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			case test.bad != "" && (!errors.Is(err, units.ErrSyntax) || !strings.Contains(err.Error(), test.bad)):
				t.Errorf("got error %v, want one with %q", err, test.bad)
			case test.bad != "" && got != 7:
				t.Errorf("got %v with an error, want the 7 that was there", got)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"bytes", units.FormatBytes(100), "100 B"},
		{"a page", units.Bytes(4096).String(), "4.00 KiB"},
		{"many bytes", units.FormatBytes(200 << 20), "210 MB"},
		{"gigabytes", units.FormatBytes(15 << 30), "16.1 GB"},
		{"a slow network", units.FormatByteRate(12), "12 B/s"},
		{"a network", units.FormatByteRate(12.5e9), "12.5 GB/s"},
		{"kilobytes per second", units.FormatByteRate(2500), "2.50 kB/s"},
		{"megabytes per second", units.FormatByteRate(2.5e8), "250 MB/s"},
		{"a slow rate", units.FormatRate(0.5), "0.50 /s"},
		{"a rate", units.FormatRate(50e3), "50.0 k/s"},
		{"a fast rate", units.FormatRate(7.4e6), "7.40 M/s"},
		{"no thousands", units.FormatCount(999), "999"},
		{"thousands", units.FormatCount(1000), "1,000"},
		{"millions", units.FormatCount(12345678), "12,345,678"},
		{"zero", units.FormatCount(0), "0"},
		{"seconds", units.FormatDuration(1500 * time.Millisecond), "1.50 s"},
		{"milliseconds", units.FormatDuration(1500 * time.Microsecond), "1.50 ms"},
		{"minutes", units.FormatDuration(90 * time.Second), "1m30s"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.got != test.want {
				t.Errorf("got %q, want %q", test.got, test.want)
			}
		})
	}
}

func TestFormatNumber(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		thing string
		want  string
	}{
		{"none are many", 0, "subscriber", "0 subscribers"},
		{"one is not", 1, "subscriber", "1 subscriber"},
		{"thousands are grouped", 1234, "subscriber", "1,234 subscribers"},
		{"one that ends in y", 1, "entry", "1 entry"},
		{"several that end in y", 2, "entry", "2 entries"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := units.FormatNumber(test.n, test.thing); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
