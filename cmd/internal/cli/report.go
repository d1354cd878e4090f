package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// PrintJSON writes v as one line.
func PrintJSON(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

// Meter turns a counter into its rate since the call before.
//
// Threads: one at a time.
type Meter struct {
	last uint64
	at   time.Time
}

// NewMeter returns a meter of a counter that stands at 0 now.
func NewMeter() *Meter { return &Meter{at: time.Now()} }

// Rate returns the growth per second of the counter, which stands at n now.
func (m *Meter) Rate(n uint64) float64 {
	now := time.Now()
	rate := PerSecond(n-m.last, now.Sub(m.at))
	m.last, m.at = n, now
	return rate
}

// PerSecond returns n per second of d; 0 if d is too short to tell.
func PerSecond(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
