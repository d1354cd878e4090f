// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf16"

	"tagbus/internal/stream"
)

// PrintJSON writes a summary as one line, safe to show.
func PrintJSON(w io.Writer, v any) error {
	if err := WriteJSON(w, v); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

// WriteJSON writes v as one line, safe to show.
func WriteJSON(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = io.WriteString(w, printableJSON(string(line))+"\n")
	}
	return err
}

// printableJSON escapes the characters that do harm on a terminal and that JSON
// lets pass: they can only be within its strings.
func printableJSON(line string) string {
	if !strings.ContainsFunc(line, unprintable) {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		if !unprintable(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
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

// complain writes text to standard error outside a Console, and does not wait for
// it for ever.
//
//   - Errors: the system's, ErrStuck.
func complain(to io.Writer, text string) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(to, text)
		done <- err
	}()
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return ErrStuck
	}
}

// Conclude ends the console and prints the summary of a command with --json.
//
//   - code: exit code so far.
//   - data: the summary as a line goes here, and waits for its reader. nil: to
//     standard error, which has only so much time.
//   - summary: returns what to print. It is given the final code, and why it is
//     not the one of before, or nil.
//   - Result: the exit code.
func (c *Console) Conclude(code int, data io.Writer, summary func(code int, err error) any) int {
	code, err := c.end(code)
	sum := summary(code, err)
	if data != nil {
		err = PrintJSON(data, sum)
	} else {
		var line strings.Builder
		if err = PrintJSON(&line, sum); err == nil {
			err = complain(c.out, line.String())
		}
	}
	if stream.Gone(data, err) || stream.Gone(c.out, err) { // a summary that is not wanted
		return code
	}
	if err != nil {
		_ = complain(c.out, c.text(c.failure(err))) // the exit code says it too
		return ExitFailed
	}
	return code
}

// Conclusion is how a run has ended. The summary of a command embeds it.
type Conclusion struct {
	Exit  int    `json:"exit"`
	Error string `json:"error,omitempty"`
}

// Summary is what is said of a run at its end: a line to people, and an object to programs. It
// embeds a Conclusion.
type Summary interface {
	fmt.Stringer
	Concluded() *Conclusion
}

// Concluded returns the conclusion, for a summary that embeds it.
func (c *Conclusion) Concluded() *Conclusion { return c }

// Failed notes why a run has failed in what is said at its end, and says it.
//
//   - code: exit code for err.
//   - err: nil: the run has not failed.
func (c *Console) Failed(sum Summary, code int, err error) {
	end := sum.Concluded()
	if end.Exit = code; err != nil {
		end.Error = Text(err)
		c.Fail(err)
	}
}

// Report says how a run went, ends the console, and returns the exit code.
//
//   - json: as an object.
//   - data: where that goes; see Conclude.
func (c *Console) Report(sum Summary, json bool, data io.Writer) int {
	end := sum.Concluded()
	if !json {
		c.Summary(sum)
		return c.End(end.Exit)
	}
	return c.Conclude(end.Exit, data, func(code int, err error) any {
		if end.Exit = code; err != nil {
			end.Error = Text(err)
		}
		return sum
	})
}

// text returns a record as the console would write it.
func (c *Console) text(q queued) string {
	var b strings.Builder
	_ = c.log.handler(c.program, c.out, &b).Handle(context.Background(), q.record) // a builder takes all
	return b.String()
}

// End ends the console of a command without --json and returns its exit code.
func (c *Console) End(code int) int {
	code, _ = c.end(code)
	return code
}

// end closes the console: what could not be said makes a run that was done fail.
func (c *Console) end(code int) (int, error) {
	err := c.Close()
	if err != nil && code == ExitDone {
		return ExitFailed, err
	}
	return code, nil
}
