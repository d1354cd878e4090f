// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
)

// summary is what --json prints.
type summary struct {
	Program           string  `json:"program"`
	Instance          string  `json:"instance,omitempty"`
	Messages          uint64  `json:"messages"` // accepted for all subscribers of their tags
	Bytes             uint64  `json:"bytes"`    // payload
	Seconds           float64 `json:"seconds"`  // from the first message until all was sent
	MessagesPerSecond float64 `json:"messages_per_second"`
	BytesPerSecond    float64 `json:"bytes_per_second"`
	Lost              uint64  `json:"lost"`     // not received by subscribers, counted for each
	Refusals          uint64  `json:"refusals"` // times that there was no room
	Subscriptions     int64   `json:"subscriptions"`
	Refused           uint64  `json:"refused"`                  // with --send: receivers that deny tags, or that this command denies
	Unacknowledged    uint64  `json:"unacknowledged,omitempty"` // with --ack
	Ended             string  `json:"ended"`                    // end of input, count, duration, signal or error
	cli.Conclusion

	LostBy      cli.LossCounts      `json:"lost_by"`
	Unconfirmed uint64              `json:"unconfirmed"` // lost or received: their subscribers have gone without saying so
	Subscribers []subscriberSummary `json:"subscribers"` // the last 256 and those connected

	Dropped dropped `json:"dropped"` // received by subscribers and lost there, as they say

	losses bus.Losses
}

// dropped counts what subscribers have lost of what they have received.
type dropped struct {
	Overflowed uint64 `json:"overflowed"`
	Panicked   uint64 `json:"panicked"`
}

// text says how many were lost where; empty: none.
func (d dropped) text(queue, handlers string) (text string) {
	if d.Overflowed > 0 {
		text += fmt.Sprintf(", %s more in %s", units.FormatCount(d.Overflowed), queue)
	}
	if d.Panicked > 0 {
		text += fmt.Sprintf(", %s more in %s, which panicked", units.FormatCount(d.Panicked), handlers)
	}
	return text
}

// report says how the run went and returns the exit code.
func (r *run) report(err error, s cli.Streams) int {
	err = errors.Join(err, r.presence.Refusal("receiver"))
	if err != nil {
		r.ended = "error"
	}
	sum := summary{
		Program: r.name, Messages: r.stats.Messages, Bytes: r.stats.Bytes, Seconds: r.elapsed.Seconds(),
		MessagesPerSecond: cli.PerSecond(r.stats.Messages, r.elapsed), BytesPerSecond: cli.PerSecond(r.stats.Bytes, r.elapsed),
		Refusals: r.stats.Refusals, Subscriptions: r.audience.Subscribed.Load(),
		Refused:        r.presence.Refused(),
		Unacknowledged: r.unacked.Load(),
		Ended:          r.ended,
		LostBy:         cli.LossCounts(r.stats.Losses), Subscribers: subscribersOf(r.stats), Dropped: dropped(r.stats.Dropped), losses: r.stats.Losses,
	}
	sum.Lost, sum.Unconfirmed = sum.losses.Lost(), r.stats.Unconfirmed
	r.console.Failed(&sum, cli.Code(err), err)
	r.saySubscribers(sum.Subscribers)
	if r.producer != nil {
		sum.Instance = r.producer.Instance()
		if sum.Messages > 0 && sum.Subscriptions == 0 && !r.flags.Send { // a message is sent to its receiver
			r.console.Warn("%s", r.audience.Deserted())
		}
	}
	if r.producer == nil && err != nil && !r.flags.JSON { // nothing was begun
		return r.console.End(sum.Exit)
	}
	return r.console.Report(&sum, r.flags.JSON, s.Out)
}

// String returns the summary as a line for people.
func (s summary) String() string {
	line := fmt.Sprintf("%s, %s in %s: %s, %s, %s",
		units.FormatNumber(s.Messages, "message"), units.FormatBytes(float64(s.Bytes)),
		units.FormatDuration(time.Duration(s.Seconds*float64(time.Second))),
		units.FormatRate(s.MessagesPerSecond), units.FormatByteRate(s.BytesPerSecond), cli.LostText(s.losses.Lost(), s.losses, s.Unconfirmed))
	return line + s.Dropped.text("subscribers' own queues", "their handlers") + "; ended by " + s.Ended
}

// liveWaiting makes the line that a terminal shows say what is waited for, from now on.
func (r *run) liveWaiting(what func() string) {
	since := time.Now()
	r.live(func() string { return cli.Waiting(since, what()) })
}

// live sets the line that a terminal renews, except where it would hide messages that are
// typed.
func (r *run) live(line func() string) {
	if r.flags.Input != "-" || !cli.IsTerminal(r.stdin) {
		r.console.Live(line)
	}
}

// liveLine returns the line that a terminal shows while the command runs.
func (r *run) liveLine(st bus.PublisherStats, messages, bytes *cli.Meter) string {
	peers := "subscriber"
	if r.flags.Send {
		peers = "receiver"
	}
	if r.flags.Send && st.Messages == 0 && len(st.Subscribers) == 0 {
		return cli.Waiting(r.started, fmt.Sprintf("receivers in %s that have %v", r.flags.Bus, r.flags.Tags))
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s, buffers %d of %d free (least %d)",
		units.FormatByteRate(bytes.Rate(st.Bytes)), units.FormatRate(messages.Rate(st.Messages)), units.FormatNumber(st.Messages, "message"),
		cli.LostText(st.Losses.Lost(), st.Losses, st.Unconfirmed), units.FormatNumber(len(st.Subscribers), peers),
		st.PagesFree, st.Pages, st.MinPagesFree)
}

// sayWaiting says what the end waits for, and how long that may take until ctx ends.
//
//   - stopping: a signal has come.
func (r *run) sayWaiting(ctx context.Context, stopping bool) {
	who := cli.Draining(r.producer.Stats(), r.flags.Bus)
	how := fmt.Sprintf("a signal shortens that to %v, another one gives up", session.SignalDrainTimeout)
	if stopping {
		how = "a second signal gives up"
	}
	until, _ := ctx.Deadline()
	r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting up to %v for %s; %s", time.Until(until).Round(time.Second), who, how)
}
