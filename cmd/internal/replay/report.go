// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"fmt"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/latency"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// summary is what --json prints.
type summary struct {
	Program           string         `json:"program"`
	Instance          string         `json:"instance,omitempty"`
	Messages          uint64         `json:"messages"` // accepted for all subscribers of their tags
	Bytes             uint64         `json:"bytes"`    // payload
	Seconds           float64        `json:"seconds"`  // from the first message until all was sent
	MessagesPerSecond float64        `json:"messages_per_second"`
	BytesPerSecond    float64        `json:"bytes_per_second"`
	Passes            int            `json:"passes"`         // that were played to their end
	Late              *lateness      `json:"late,omitempty"` // not with --as-fast-as-possible
	Recorded          recorded       `json:"recorded"`
	Lost              uint64         `json:"lost"` // not received by subscribers, counted for each
	LostBy            cli.LossCounts `json:"lost_by"`
	Unconfirmed       uint64         `json:"unconfirmed"` // lost or received: their subscribers have gone without saying so
	Refusals          uint64         `json:"refusals"`    // times that there was no room
	Subscriptions     int64          `json:"subscriptions"`
	Ended             string         `json:"ended"` // end of recording, signal or error
	cli.Conclusion

	losses bus.Losses
	late   latency.Summary
	holes  string
}

// lateness is how long after their times messages were given to the transport.
type lateness struct {
	P50 float64 `json:"p50_seconds"`
	P99 float64 `json:"p99_seconds"`
	Max float64 `json:"max_seconds"`
}

// recorded is what the recording has of what is published.
type recorded struct {
	Messages   uint64 `json:"messages"`
	Tags       uint64 `json:"tags"`       // after --map, also of other times
	Publishers int    `json:"publishers"` // of these tags
	Lost       uint64 `json:"lost"`       // when it was recorded
	LeftOut    uint64 `json:"left_out"`   // by the policy of the recorder
	Vanished   uint64 `json:"vanished"`   // publishers, whose last messages may be missing
	Broken     int    `json:"broken"`     // blocks that cannot be read
	Whole      bool   `json:"whole"`      // the files have all that was written to them
}

// report says how the run went.
func (r *run) report(err error) error {
	s := r.summary()
	r.console.Failed(&s, tool.Code(err), err)
	if err != nil && s.Ended == "" {
		s.Ended = "error"
	}
	if s.Messages > 0 && s.Subscriptions == 0 {
		r.console.Warn("%s", r.audience.Deserted())
	}
	if r.publisher == nil && err != nil && !r.env.JSON { // nothing was begun
		return tool.Status(r.console.End(s.Exit))
	}
	return tool.Status(r.console.Report(&s, r.env.JSON, r.env.Out))
}

// summary returns what the run has done. It is called at its end.
func (r *run) summary() summary {
	st := r.stats
	s := summary{
		Program: name, Messages: st.Messages, Bytes: st.Bytes, Seconds: r.elapsed.Seconds(), Passes: r.passes,
		MessagesPerSecond: cli.PerSecond(st.Messages, r.elapsed), BytesPerSecond: cli.PerSecond(st.Bytes, r.elapsed),
		Lost: st.Losses.Lost(), LostBy: cli.LossCounts(st.Losses), Unconfirmed: st.Unconfirmed, Refusals: st.Refusals,
		Subscriptions: r.audience.Subscribed.Load(), Ended: r.ended, losses: st.Losses, holes: r.found.holes(),
	}
	s.Recorded = recorded{
		Messages: r.found.messages, Publishers: r.publishers, LeftOut: r.found.losses[recording.CauseLeftOut],
		Lost: r.found.losses.Lost(), Vanished: r.found.vanished(), Broken: r.damages.count(), Whole: r.damages.count() == 0 && len(r.flaws) == 0,
	}
	s.Recorded.Tags, _ = r.tags.Count()
	if r.publisher != nil {
		s.Instance = r.publisher.Instance()
	}
	if r.metronome != nil {
		s.late = r.metronome.late.Total()
		s.Late = &lateness{s.late.P50.Seconds(), s.late.P99.Seconds(), s.late.Max.Seconds()}
	}
	return s
}

// String returns the summary as a line for people.
func (s summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s, %s in %s: %s, %s, %s", units.FormatNumber(s.Messages, "message"), units.FormatNumber(s.Recorded.Tags, "tag"),
		units.FormatBytes(float64(s.Bytes)), units.FormatDuration(time.Duration(s.Seconds*float64(time.Second))),
		units.FormatRate(s.MessagesPerSecond), units.FormatByteRate(s.BytesPerSecond), cli.LostText(s.losses.Lost(), s.losses, s.Unconfirmed))
	if s.Late != nil && s.late.Messages > 0 {
		fmt.Fprintf(&b, "; late p50 %s, p99 %s, max %s", units.FormatDuration(s.late.P50), units.FormatDuration(s.late.P99), units.FormatDuration(s.late.Max))
	}
	if s.Passes > 1 {
		fmt.Fprintf(&b, "; played %s", units.FormatNumber(s.Passes, "time"))
	}
	if s.holes != "" {
		fmt.Fprintf(&b, "; missing since it was recorded: %s", s.holes)
	}
	fmt.Fprintf(&b, "; ended by %s", s.Ended)
	return b.String()
}

// sayPause says that nothing is published for long.
func (r *run) sayPause(left time.Duration) {
	r.console.Say("the next message is in %s: --max-gap cuts pauses", units.FormatDuration(left))
}

// liveLine returns the line that a terminal shows while the command publishes.
func (r *run) liveLine(messages, bytes *cli.Meter) string {
	st := r.publisher.Stats()
	line := fmt.Sprintf("%s, %s, %s, %s, %s", units.FormatByteRate(bytes.Rate(st.Bytes)), units.FormatRate(messages.Rate(st.Messages)),
		units.FormatNumber(st.Messages, "message"), cli.LostText(st.Losses.Lost(), st.Losses, st.Unconfirmed), units.FormatNumber(len(st.Subscribers), "subscriber"))
	if r.cmd.AsFastAsPossible {
		return line
	}
	return units.FormatDuration(time.Duration(r.at.Load())) + " played, " + line
}
