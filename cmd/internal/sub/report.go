// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sub

import (
	"errors"
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
	Program       string         `json:"program"`
	Messages      uint64         `json:"messages"` // shown
	Bytes         uint64         `json:"bytes"`    // payload of those
	Tags          int            `json:"tags"`     // of which messages came, at most 65,536
	Seconds       float64        `json:"seconds"`
	OtherStatuses uint64         `json:"other_statuses"` // messages that --status does not ask for
	LeftOut       uint64         `json:"left_out"`       // by the publishers, as the policy says
	LeftOutHere   uint64         `json:"left_out_here"`  // by this command, because the output was slow
	Lost          uint64         `json:"lost"`
	LostBy        cli.LossCounts `json:"lost_by"`
	NotPrinted    uint64         `json:"not_printed"` // waited for the output at the end
	Publishers    int            `json:"publishers"`  // connected at the end
	Vanished      uint64         `json:"vanished"`    // publishers that went without goodbye: how much is missing is unknown
	Failed        uint64         `json:"failed"`      // publishers that ended because something failed there
	Refused       uint64         `json:"refused"`     // publishers that deny tags, or that this command denies
	Policy        string         `json:"policy"`
	Ended         string         `json:"ended"` // count, time, signal, closed output or error
	cli.Conclusion

	losses bus.Losses
}

// summary returns what the run has seen. It is called at its end.
func (r *run) summary(st bus.SubscriberStats) summary {
	s := summary{
		Program: name, Tags: len(r.account.tags), Seconds: time.Since(r.began).Seconds(), OtherStatuses: r.account.filtered,
		LeftOut: st.LeftOut, LeftOutHere: r.account.leftOut + st.Overflowed, Lost: st.Lost, LostBy: cli.LossCounts(st.Losses),
		Publishers: r.publishers, Vanished: r.presence.Unaccounted(), Failed: r.presence.Failed(), Refused: r.presence.Refused(), Policy: r.cmd.subscription().Policy.String(), Ended: r.ended, losses: st.Losses,
	}
	if r.shown != nil {
		s.Messages, s.Bytes = r.shown.messages.Load(), r.shown.bytes.Load()
	}
	if r.queue != nil {
		s.NotPrinted = r.queue.count() - s.Messages
	}
	return s
}

// report says how the run went.
func (r *run) report(s summary, err error) error {
	if err == nil {
		err = r.shortcoming(s)
	}
	r.console.Failed(&s, tool.Code(err), err)
	return tool.Status(r.console.Report(&s, r.env.JSON, nil))
}

// shortcoming returns what makes an orderly end a failure: what was asked for was not seen.
func (r *run) shortcoming(s summary) error {
	switch {
	case s.Ended == "closed output", s.Ended == "count": // no more is wanted
		return nil
	case s.Messages >= uint64(r.cmd.Count):
		return errors.Join(r.presence.Refusal("publisher"), r.presence.Withheld("publisher"))
	}
	text := fmt.Sprintf("got %d of %d messages (--count): ended by %s", s.Messages, r.cmd.Count, s.Ended)
	if s.Publishers == 0 {
		text += ", and no publisher of the tags is connected"
	}
	return errors.Join(errors.New(text), r.presence.Refusal("publisher"), r.presence.Withheld("publisher"))
}

// String returns the summary as a line for people.
func (s summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "saw %s of %s, %s in %s", units.FormatNumber(s.Messages, "message"), units.FormatNumber(s.Tags, "tag"),
		units.FormatBytes(float64(s.Bytes)), units.FormatDuration(time.Duration(s.Seconds*float64(time.Second))))
	if s.OtherStatuses > 0 {
		fmt.Fprintf(&b, "; %s of other statuses", units.FormatCount(s.OtherStatuses))
	}
	fmt.Fprintf(&b, "; %s left out", units.FormatCount(s.LeftOut+s.LeftOutHere))
	var by []string
	if s.LeftOut > 0 {
		by = append(by, fmt.Sprintf("%s by publishers (--policy %s)", units.FormatCount(s.LeftOut), s.Policy))
	}
	if s.LeftOutHere > 0 {
		by = append(by, fmt.Sprintf("%s here, where the output is slow", units.FormatCount(s.LeftOutHere)))
	}
	if len(by) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(by, ", "))
	}
	fmt.Fprintf(&b, "; %s lost", units.FormatCount(s.Lost))
	if causes := cli.Causes(s.losses); causes != "" {
		fmt.Fprintf(&b, " (%s)", causes)
	}
	if s.Vanished > 0 {
		fmt.Fprintf(&b, "; %s gone without goodbye", units.FormatNumber(s.Vanished, "publisher"))
	}
	if s.Failed > 0 {
		fmt.Fprintf(&b, "; %s failed", units.FormatNumber(s.Failed, "publisher"))
	}
	if s.Refused > 0 {
		fmt.Fprintf(&b, "; %s refused", units.FormatNumber(s.Refused, "publisher"))
	}
	if s.NotPrinted > 0 {
		fmt.Fprintf(&b, "; %s not printed", units.FormatCount(s.NotPrinted))
	}
	fmt.Fprintf(&b, "; ended by %s", s.Ended)
	return b.String()
}
