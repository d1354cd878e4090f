// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"fmt"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
)

// summary is the last line.
type summary struct {
	Program           string         `json:"program"`
	File              string         `json:"file"`
	Whole             bool           `json:"whole"`         // as tagbus rec verify says
	Why               []string       `json:"why,omitempty"` // it is not
	Messages          uint64         `json:"messages"`
	Bytes             uint64         `json:"bytes"` // payload of those
	Parts             uint64         `json:"parts"`
	FileBytes         uint64         `json:"file_bytes"` // of all parts
	Seconds           float64        `json:"seconds"`    // from the first message to the last
	MessagesPerSecond float64        `json:"messages_per_second"`
	BytesPerSecond    float64        `json:"bytes_per_second"`
	Publishers        uint64         `json:"publishers"` // that were recorded
	Lost              uint64         `json:"lost"`       // messages
	LostBy            cli.LossCounts `json:"lost_by"`
	Vanished          uint64         `json:"vanished"` // publishers that went without goodbye
	Away              uint64         `json:"away"`     // publishers whose connection was lost at the end
	Failed            uint64         `json:"failed"`   // publishers that ended because something failed there
	Refused           uint64         `json:"refused"`  // publishers that deny tags, or that this program denies
	NotWritten        uint64         `json:"not_written"`
	Holds             uint64         `json:"holds"` // how often reading stopped because the disk was slow
	Policy            string         `json:"policy"`
	Codec             string         `json:"codec"`
	Ended             string         `json:"ended"` // count, goodbye, duration, signal, disk or error
	cli.Conclusion

	losses  bus.Losses
	refusal error // what is denied; nil: nothing
	holes   error // what was denied for a time; nil: nothing
	silent  error // the directory has not answered once; nil: it has
}

// report says how the run went.
func (r *run) report(err error) error {
	s := r.summary()
	s.judge(err)
	if err == nil {
		err = r.shortcoming(s)
	}
	r.console.Failed(&s, tool.Code(err), err)
	return tool.Status(r.console.Report(&s, r.env.JSON, r.env.Out))
}

// summary returns what the run has recorded. It is called at its end.
func (r *run) summary() summary {
	elapsed := max(0, r.last.Sub(r.intake.first))
	s := summary{
		Program: name, File: r.cmd.File, Messages: r.intake.messages.Load(), Bytes: r.intake.bytes.Load(),
		Parts: r.writer.parts.Load(), FileBytes: r.writer.taken.Load(), Seconds: elapsed.Seconds(),
		Publishers: r.presence.Seen(), Lost: r.stats.Lost, LostBy: cli.LossCounts(r.stats.Losses),
		Vanished: r.presence.Vanished(), Away: r.presence.Away(), Failed: r.presence.Failed(),
		Refused: r.presence.Refused(), refusal: r.presence.Refusal("publisher"), holes: r.presence.Withheld("publisher"), silent: r.silent,
		NotWritten: r.notWritten, Holds: r.intake.holds.Load(),
		Policy: r.cmd.Policy.String(), Codec: r.cmd.Codec.String(), Ended: r.ending.Reason(), losses: r.stats.Losses,
	}
	s.MessagesPerSecond, s.BytesPerSecond = cli.PerSecond(s.Messages, elapsed), cli.PerSecond(s.Bytes, elapsed)
	return s
}

// judge notes why the recording is not whole, if it is not.
//
//   - err: what has failed.
func (s *summary) judge(err error) {
	add := func(format string, args ...any) { s.Why = append(s.Why, fmt.Sprintf(format, args...)) }
	if s.Lost > 0 {
		add("%s lost (%s)", units.FormatNumber(s.Lost, "message"), cli.Causes(s.losses))
	}
	if s.Vanished > 0 {
		add("%s gone without goodbye: how many last messages are missing is not known", units.FormatNumber(s.Vanished, "publisher"))
	}
	if s.Away > 0 {
		add("the connection to %s was lost, and not back at the end", units.FormatNumber(s.Away, "publisher"))
	}
	if s.refusal != nil {
		add("%v", s.refusal)
	}
	if s.holes != nil {
		add("%v", s.holes)
	}
	if s.silent != nil {
		add("%s", cli.Text(s.silent))
	}
	if s.NotWritten > 0 {
		add("%s not written", units.FormatNumber(s.NotWritten, "message"))
	}
	switch {
	case s.Ended == "disk":
		add("the disk ended it")
	case err != nil && len(s.Why) == 0:
		add("it failed")
	}
	s.Whole = len(s.Why) == 0
}

// shortcoming returns what makes an orderly end a failure.
func (r *run) shortcoming(s summary) error {
	switch {
	case !s.Whole:
		return fmt.Errorf("%s is not whole: %s", s.File, strings.Join(s.Why, "; "))
	case s.Failed > 0:
		return r.presence.Failure("publisher")
	case s.Messages < uint64(r.cmd.Count):
		return fmt.Errorf("got %d of %d messages (--count): ended by %s", s.Messages, r.cmd.Count, s.Ended)
	case r.cmd.UntilGoodbye && s.Ended == "duration" && s.Publishers == 0:
		return fmt.Errorf("no publisher of the tags came, whose goodbye was to be waited for (--until-goodbye)")
	}
	return nil
}

// String returns the summary as a line for people.
func (s summary) String() string {
	var b strings.Builder
	if s.Whole {
		b.WriteString("whole: ")
	} else {
		b.WriteString("not whole: ")
	}
	fmt.Fprintf(&b, "%s of %s, %s in %s", units.FormatNumber(s.Messages, "message"), units.FormatNumber(s.Publishers, "publisher"),
		units.FormatBytes(float64(s.Bytes)), units.FormatDuration(time.Duration(s.Seconds*float64(time.Second))))
	fmt.Fprintf(&b, "; %s in %s", units.FormatBytes(float64(s.FileBytes)), units.FormatNumber(s.Parts, "file"))
	if len(s.Why) > 0 {
		fmt.Fprintf(&b, "; %s", strings.Join(s.Why, ", "))
	}
	if s.losses.LeftOut > 0 {
		fmt.Fprintf(&b, "; %s left out (--policy %s)", units.FormatCount(s.losses.LeftOut), s.Policy)
	}
	if s.Failed > 0 {
		fmt.Fprintf(&b, "; %s failed", units.FormatNumber(s.Failed, "publisher"))
	}
	if s.Holds > 0 {
		fmt.Fprintf(&b, "; reading stopped %s for the disk", units.FormatNumber(s.Holds, "time"))
	}
	fmt.Fprintf(&b, "; ended by %s", s.Ended)
	return b.String()
}

// liveLine returns the line that a terminal shows while the command runs.
func (r *run) liveLine(messages, bytes *cli.Meter) string {
	st := r.subscriber.Stats()
	n := r.intake.messages.Load()
	if n == 0 && st.Publishers == 0 {
		return cli.Waiting(r.began, fmt.Sprintf("publishers in %s that have %v", r.env.Bus, r.cmd.Tags))
	}
	lost := units.FormatCount(st.Lost) + " lost"
	if causes := cli.Causes(st.Losses); causes != "" {
		lost += " (" + causes + ")"
	}
	line := fmt.Sprintf("%s, %s, %s, %s, %s, %s in %s", units.FormatByteRate(bytes.Rate(r.intake.bytes.Load())), units.FormatRate(messages.Rate(n)),
		units.FormatNumber(n, "message"), lost, units.FormatNumber(st.Publishers, "publisher"),
		units.FormatBytes(float64(r.writer.taken.Load())), units.FormatNumber(r.writer.parts.Load(), "file"))
	if r.intake.held.Load() {
		line += ", waiting for the disk"
	}
	return line
}
