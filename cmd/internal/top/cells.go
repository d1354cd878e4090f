// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// unknown stands for a figure that is not known.
const unknown = "-"

// count returns a number in at most 5 columns: 9999, 10.0k, 1.23M.
func count(n uint64) string {
	if n < 10_000 {
		return strconv.FormatUint(n, 10)
	}
	return scaled(float64(n))
}

// rate returns a number a second in at most 5 columns: 0, 0.25, 999, 1.23k.
func rate(r overview.Rate) string {
	switch {
	case !r.Known():
		return unknown
	case r == 0:
		return "0"
	default:
		return scaled(float64(r))
	}
}

// megabytes returns a rate of bytes in units of 10⁶.
func megabytes(r overview.Rate) string {
	if !r.Known() {
		return unknown
	}
	return rate(r / 1e6)
}

// scaled returns n with three digits.
func scaled(n float64) string {
	unit := ""
	for _, next := range []string{"k", "M", "G", "T", "P"} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, next
	}
	decimals := 2
	switch {
	case n >= 99.95:
		decimals = 0
	case n >= 9.995:
		decimals = 1
	}
	return strconv.FormatFloat(n, 'f', decimals, 64) + unit
}

// percent returns a share of 1 in whole percent. Only what is empty has 0, and only what
// is full 100.
func percent(share overview.Share) string {
	switch {
	case !share.Known():
		return unknown
	case share <= 0:
		return "0"
	case share >= 1:
		return "100"
	default:
		return strconv.Itoa(max(1, min(99, int(share*100+0.5))))
	}
}

// lost returns losses by cause: full/memory/connection, and +others if there are some.
func lost(losses []state.Loss) string {
	if len(losses) == 0 {
		return "0"
	}
	causes := []state.Cause{state.Full, state.Memory, state.Connection}
	others := state.Lost(losses)
	parts := make([]string, len(causes))
	for i, cause := range causes {
		n := overview.LostBy(losses, cause)
		others -= n
		parts[i] = count(n)
	}
	text := strings.Join(parts, "/")
	if others > 0 {
		text += "+" + count(others)
	}
	return text
}

// span returns how long something has lasted, in at most 6 columns: 12s, 3m05s, 2h10m,
// 4d06h.
func span(d time.Duration) string {
	s := int(max(0, d).Seconds())
	switch {
	case s < 60:
		return strconv.Itoa(s) + "s"
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 24*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
	default:
		return fmt.Sprintf("%dd%02dh", s/(24*3600), s%(24*3600)/3600)
	}
}

// roundTrip returns a time in at most 6 columns: 45us, 1.20ms, 1.50s.
func roundTrip(seconds float64) string {
	switch {
	case seconds <= 0:
		return unknown
	case seconds < 0.9995e-3:
		return scaled(seconds*1e6) + "us"
	case seconds < 0.9995:
		return scaled(seconds*1e3) + "ms"
	default:
		return scaled(seconds) + "s"
	}
}
