// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/latency"
	"tagbus/cmd/internal/units"
)

// summary is what --json prints.
type summary struct {
	Program           string         `json:"program"`
	Messages          uint64         `json:"messages"` // taken: counted, checked, written
	Bytes             uint64         `json:"bytes"`    // payload of those
	Seconds           float64        `json:"seconds"`  // from the first message to the last
	MessagesPerSecond float64        `json:"messages_per_second"`
	BytesPerSecond    float64        `json:"bytes_per_second"`
	Lost              uint64         `json:"lost"`    // messages that were published for us and did not arrive
	Missing           uint64         `json:"missing"` // with --verify: of those, what the bus has not reported
	LostBy            cli.LossCounts `json:"lost_by"`
	Policy            string         `json:"policy"`
	Overflowed        uint64         `json:"overflowed"`  // messages that arrived and were lost in the full queue of this command, as the policy says
	NotWritten        uint64         `json:"not_written"` // messages that arrived and that the output is not known to have taken
	Vanished          uint64         `json:"vanished"`    // publishers that went without goodbye: how much is missing is unknown
	Failed            uint64         `json:"failed"`      // publishers that ended because something failed there
	Refused           uint64         `json:"refused"`     // publishers that deny tags, or that this command denies
	Verified          bool           `json:"verified"`    // with --verify
	Corrupt           uint64         `json:"corrupt"`
	Duplicates        uint64         `json:"duplicates"`
	Latency           *latencyOf     `json:"latency,omitempty"` // with --verify, of messages that are stamped
	Tags              []tagSummary   `json:"tags,omitempty"`    // with --per-tag
	Ended             string         `json:"ended"`             // count, goodbye, duration, signal, timeout, closed output or error
	cli.Conclusion

	losses   bus.Losses
	overflow string // what happened to those of Overflowed
	latency  latency.Summary
	peers    string // what the other side is called
}

// latencyOf is how long messages took.
type latencyOf struct {
	Messages uint64  `json:"messages"`
	P50      float64 `json:"p50_seconds"`
	P99      float64 `json:"p99_seconds"`
	Max      float64 `json:"max_seconds"`
}

var (
	errLost    = errors.New("messages were lost")
	errMissing = errors.New("messages are missing that the bus has not reported as lost")
	errCorrupt = errors.New("messages were corrupt or duplicated")
)

// report says how the run went and returns the exit code.
func (r *run) report(err error) int {
	if v := r.receiver.verifier; v != nil && !r.stuck { // else it is still in use
		r.checkAccount()
	}
	r.sayLosses()
	var silent error
	if ended := r.ending.Reason(); err == nil && ended != "signal" && ended != "closed output" { // else it was asked to stop before
		r.presence.Settle(r.listed, r.ending.Time())
		silent = r.listed.Silent()
	}
	sum := r.summary()
	if err == nil {
		err = r.shortcoming(sum)
	}
	err = errors.Join(err, silent, r.presence.Failure(r.peers()), r.presence.Refusal(r.peers()), r.presence.Withheld(r.peers()))
	r.console.Failed(&sum, cli.Code(err), err)
	if r.subscriber == nil && !r.flags.JSON { // nothing was begun
		return r.console.End(sum.Exit)
	}
	to := r.streams.Out
	if r.flags.outputName() == "-" { // that is taken by the messages
		to = nil
	}
	return r.console.Report(&sum, r.flags.JSON, to)
}

// shortcoming returns what makes an orderly end a failure.
func (r *run) shortcoming(s summary) error {
	switch {
	case s.Missing > 0 || s.losses.Ended > 0:
		return errMissing
	case s.Lost > 0 && (r.flags.Policy.Lossless() || s.losses.Connection > 0):
		return errLost
	case s.Corrupt > 0 || s.Duplicates > 0:
		return errCorrupt
	case s.Vanished > 0:
		return fmt.Errorf("a %s went without goodbye: how much of it is missing is not known", s.peers)
	case s.Ended == "closed output", s.Ended == "signal": // it was asked to stop before
		return nil
	case s.Messages < uint64(r.flags.Count):
		return fmt.Errorf("got %d of %d messages (--count): ended by %s", s.Messages, r.flags.Count, s.Ended)
	case r.flags.UntilGoodbye && !r.presence.Came():
		return fmt.Errorf("no %s of the tags came, whose goodbye was to be waited for (--until-goodbye)", s.peers)
	}
	return nil
}

// peers is what the other side is called.
func (r *run) peers() string {
	if r.flags.Receive {
		return "sender"
	}
	return "publisher"
}

func (r *run) summary() summary {
	messages, bytes, first := r.receiver.counts()
	s := summary{
		Program: program, Messages: messages, Bytes: bytes, NotWritten: r.notWritten,
		Vanished: r.presence.Unaccounted(), Failed: r.presence.Failed(), Refused: r.presence.Refused(), Ended: r.ending.Reason(), Policy: r.flags.Policy.String(), Tags: r.perTag(), peers: r.peers(),
	}
	if s.Ended == "" {
		s.Ended = "error"
	}
	s.overflow = "more"
	if r.flags.Policy.Kind == bus.Latest { // which leaves out on purpose
		s.overflow = "superseded"
	}
	var stats bus.SubscriberStats
	if r.subscriber != nil {
		stats = r.subscriber.Stats()
	}
	s.Overflowed = stats.Overflowed
	s.Lost, s.losses, s.LostBy = stats.Lost, stats.Losses, cli.LossCounts(stats.Losses)
	if v := r.receiver.verifier; v != nil && !r.stuck { // else it is still in use
		s.Verified, s.Corrupt, s.Duplicates = true, v.Corrupt, v.Duplicates
		s.Lost += v.Missing
		s.Missing = v.Missing
		if s.latency = v.Latency.Total(); s.latency.Messages > 0 {
			s.Latency = &latencyOf{s.latency.Messages, s.latency.P50.Seconds(), s.latency.P99.Seconds(), s.latency.Max.Seconds()}
		}
	}
	elapsed := max(0, r.last.Sub(first))
	s.Seconds = elapsed.Seconds()
	s.MessagesPerSecond, s.BytesPerSecond = cli.PerSecond(s.Messages, elapsed), cli.PerSecond(s.Bytes, elapsed)
	return s
}

// String returns the summary as a line for people.
func (s summary) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s in %s: %s, %s, %s",
		units.FormatNumber(s.Messages, "message"), units.FormatBytes(float64(s.Bytes)),
		units.FormatDuration(time.Duration(s.Seconds*float64(time.Second))),
		units.FormatRate(s.MessagesPerSecond), units.FormatByteRate(s.BytesPerSecond), cli.LostText(s.Lost, s.losses, 0))
	if s.Overflowed > 0 {
		fmt.Fprintf(&b, ", %s %s in the command's own queue", units.FormatCount(s.Overflowed), s.overflow)
	}
	if s.Missing > 0 {
		fmt.Fprintf(&b, ", %s of them not reported", units.FormatCount(s.Missing))
	}
	if s.Verified {
		fmt.Fprintf(&b, ", %s corrupt, %s duplicates", units.FormatCount(s.Corrupt), units.FormatCount(s.Duplicates))
	}
	if s.NotWritten > 0 {
		fmt.Fprintf(&b, ", %s not written", units.FormatCount(s.NotWritten))
	}
	if s.Vanished > 0 {
		fmt.Fprintf(&b, ", %s gone without goodbye", units.FormatNumber(s.Vanished, s.peers))
	}
	if s.Failed > 0 {
		fmt.Fprintf(&b, ", %s failed", units.FormatNumber(s.Failed, s.peers))
	}
	if s.Refused > 0 {
		fmt.Fprintf(&b, ", %s refused", units.FormatNumber(s.Refused, s.peers))
	}
	if s.Latency != nil {
		fmt.Fprintf(&b, ", latency %s", latencyText(s.latency))
	}
	fmt.Fprintf(&b, "; ended by %s", s.Ended)
	return b.String()
}

// liveLine returns the line that a terminal shows while the command runs.
//
//   - since: when the command began to wait for publishers or senders.
func (r *run) liveLine(st bus.SubscriberStats, since time.Time, messages, bytes *cli.Meter) string {
	peers, served := "publisher", "that have"
	if r.flags.Receive {
		peers, served = "sender", "that send to"
	}
	if st.Messages == 0 && st.Publishers == 0 {
		return cli.Waiting(since, fmt.Sprintf("%ss in %s %s %v", peers, r.flags.Bus, served, r.flags.Tags))
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s",
		units.FormatByteRate(bytes.Rate(st.Bytes)), units.FormatRate(messages.Rate(st.Messages)), units.FormatNumber(st.Messages, "message"),
		cli.LostText(st.Lost, st.Losses, 0), units.FormatNumber(st.Publishers, peers))
}
