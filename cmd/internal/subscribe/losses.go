// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/latency"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

// maxTagLines is how many tags are named at the end, those that lost most.
const maxTagLines = 10

// tagSummary is what --json --per-tag prints of a tag of a publisher.
type tagSummary struct {
	Publisher string   `json:"publisher"` // instance
	Tag       tags.Tag `json:"tag"`
	Published uint64   `json:"published"` // while we were subscribed
	Received  uint64   `json:"received"`
	cli.LossCounts
}

// tagLoss is what was lost of a tag, of all its publishers.
type tagLoss struct {
	tag       tags.Tag
	published uint64
	losses    bus.Losses
}

// account takes what the bus has counted of each tag, while it can be asked.
func (r *run) account(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	var err error
	if r.tags, err = r.subscriber.TagStats(ctx); err != nil {
		r.console.Warn("what was lost of each tag is not known: %v", err)
	}
}

// checkAccount compares what the verifier has seen with what the bus has
// reported.
func (r *run) checkAccount() {
	for _, st := range r.tags {
		instance, reported := st.Publisher.Instance, st.Losses.Lost()+st.Losses.LeftOut+st.Overflowed
		compare := r.receiver.verifier.Compare
		if r.presence.WithheldOf(instance).Contains(st.Tag) {
			compare = func(instance string, tag tags.Tag, reported uint64) error {
				return r.receiver.verifier.CompareParts(instance, tag, reported, st.Published)
			}
		}
		if err := compare(instance, st.Tag, reported); err != nil {
			r.console.Warn("%v", err)
		}
	}
}

// sayLosses names the tags that lost messages: those that lost most, or all.
func (r *run) sayLosses() {
	all := lossesByTag(r.tags)
	shown := len(all)
	if !r.flags.PerTag {
		shown = min(shown, maxTagLines)
	}
	for _, t := range all[:shown] {
		fields := []slog.Attr{slog.String("tag", t.tag.String()), slog.Uint64("count", t.losses.Lost())}
		r.console.Tell(slog.LevelWarn, "losses", fields, "tag %v: %s of %s lost: %s", t.tag, units.FormatCount(t.losses.Lost()), units.FormatCount(t.published), cli.Causes(t.losses))
	}
	var rest uint64
	for _, t := range all[shown:] {
		rest += t.losses.Lost()
	}
	if rest > 0 {
		r.console.Tell(slog.LevelWarn, "losses", []slog.Attr{slog.Uint64("count", rest)}, "%s lost %s more: --per-tag names all", units.FormatNumber(len(all)-shown, "other tag"), units.FormatNumber(rest, "message"))
	}
}

// lossesByTag returns the tags that lost messages, those with most first.
func lossesByTag(stats []bus.TagStats) []tagLoss {
	sums := make(map[tags.Tag]tagLoss)
	for _, st := range stats {
		sum := sums[st.Tag]
		sums[st.Tag] = tagLoss{st.Tag, sum.published + st.Published, cli.AddLosses(sum.losses, st.Losses)}
	}
	var all []tagLoss
	for _, t := range sums {
		if t.losses.Lost() > 0 {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b tagLoss) int {
		return cmp.Or(cmp.Compare(b.losses.Lost(), a.losses.Lost()), cmp.Compare(a.tag, b.tag))
	})
	return all
}

// perTag returns what --json --per-tag prints.
func (r *run) perTag() []tagSummary {
	if !r.flags.PerTag {
		return nil
	}
	all := make([]tagSummary, 0, len(r.tags))
	for _, st := range r.tags {
		all = append(all, tagSummary{st.Publisher.Instance, st.Tag, st.Published, st.Delivered, cli.LossCounts(st.Losses)})
	}
	return all
}

// latencyText says how long messages took.
func latencyText(l latency.Summary) string {
	return fmt.Sprintf("p50 %s, p99 %s, max %s", units.FormatDuration(l.P50), units.FormatDuration(l.P99), units.FormatDuration(l.Max))
}

// tell prints a line about each interval that has passed, until the run ends.
func (r *run) tell() {
	if r.flags.Report <= 0 {
		return
	}
	var before bus.SubscriberStats
	r.ending.Every(r.flags.Report, func() {
		st := r.subscriber.Stats()
		messages, lost, leftOut := st.Messages-before.Messages, st.Lost-before.Lost, st.LeftOut-before.LeftOut
		fields := []slog.Attr{slog.Uint64("messages", messages), slog.Uint64("lost", lost), slog.Uint64("left_out", leftOut)}
		line := fmt.Sprintf("in %v: %s, %s lost, %s left out", r.flags.Report, units.FormatNumber(messages, "message"),
			units.FormatCount(lost), units.FormatCount(leftOut))
		if v := r.receiver.verifier; v != nil {
			if l := v.Latency.Recent(); l.Messages > 0 {
				line += ", latency " + latencyText(l)
				fields = append(fields, slog.Float64("p50_seconds", l.P50.Seconds()), slog.Float64("p99_seconds", l.P99.Seconds()), slog.Float64("max_seconds", l.Max.Seconds()))
			}
		}
		before = st
		r.console.Tell(slog.LevelInfo, "report", fields, "%s", line)
	})
}

// leftOutInterval is the time between two lines about what the policy leaves out.
const leftOutInterval = time.Minute

// tellLeftOut prints what the policy has left out on purpose, once a minute, until the run
// ends.
func (r *run) tellLeftOut() {
	var before uint64
	r.ending.Every(leftOutInterval, func() {
		if n := r.subscriber.Stats().LeftOut; n > before {
			r.console.Tell(slog.LevelInfo, "left_out", []slog.Attr{slog.Uint64("count", n-before)}, "%s left out in a minute, as --policy %v asks for", units.FormatNumber(n-before, "message"), r.flags.Policy)
			before = n
		}
	})
}
