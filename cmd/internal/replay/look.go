// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/rec"
	"tagbus/cmd/internal/session"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

// maxDamageLines is how many damaged blocks are named one by one.
const maxDamageLines = 20

// checkEvery is how many records are read between two looks at whether to stop.
const checkEvery = 4096

// choose makes the query of the flags, and finds the tags that are to be published.
//
//   - Errors: nothing has these tags, or this publisher.
func (r *run) choose() error {
	for _, f := range r.files.Readers {
		if i := f.Info(); i.Messages+i.Events > 0 && (r.begin.IsZero() || i.First.Before(r.begin)) {
			r.begin = i.First
		}
	}
	c := r.cmd
	r.query = recording.Query{Tags: c.Tags, From: c.From.in(r.begin), To: c.To.in(r.begin), Publisher: c.Publisher}
	series, err := r.files.Series()
	if err != nil && c.NoCheck { // else all is read anyway
		r.console.Warn("%v", err)
	}
	if len(series) == 0 {
		return fmt.Errorf("nothing to publish: no messages are in %s", strings.Join(c.Files, ", "))
	}
	// By instance: each file has its publishers, and one that connects again comes from elsewhere.
	type origin struct {
		instance string
		tag      tags.Tag
	}
	publishers := make(map[string]struct{})
	origins := make(map[origin]struct{})
	senders := make(map[tags.Tag]int) // origins of each tag that is published
	var all []tags.Tag
	for _, s := range series {
		from := origin{tag: s.Tag}
		if s.Publisher != nil {
			from.instance = s.Publisher.Instance
		}
		if _, known := origins[from]; !known && rec.Selected(r.query, s) {
			to := r.mapper.of(s.Tag)
			origins[from], publishers[from.instance] = struct{}{}, struct{}{}
			if senders[to]++; senders[to] == 1 {
				all = append(all, to)
			} else if senders[to] == 2 {
				r.shared++
			}
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("nothing to publish: %s", rec.NoSeries(r.query, series))
	}
	r.publishers, r.tags = len(publishers), tags.Of(all...)
	if r.shared > 0 {
		r.console.Say("%s with the messages of several publishers, or of several tags by --map: in the order in which they were recorded", units.FormatNumber(r.shared, "tag"))
	}
	return nil
}

// inspect says what is wrong with the files as such.
//
//   - Errors: a part is given twice; with --strict, what is wrong.
func (r *run) inspect() error {
	for _, group := range r.files.Recordings() {
		next := uint32(0)
		for i, f := range group {
			info := f.Info()
			r.inspectFile(&info)
			switch {
			case i > 0 && info.Part < next:
				return fmt.Errorf("%s is part %d of a recording, which is given twice: leave one of the files out", info.File, info.Part)
			case i > 0 && info.Part > next:
				r.flaw("%s is part %d, and part %d is not given", info.File, info.Part, next)
			}
			next = info.Part + 1
			if info.Continues && i == len(group)-1 {
				r.console.Say("%s is part %d of a recording that goes on: give the next parts too if they are to be played", info.File, info.Part)
			}
		}
	}
	if r.cmd.Strict && len(r.flaws) > 0 {
		return fmt.Errorf("%s: leave --strict out to publish what is there", strings.Join(r.flaws, "; "))
	}
	return nil
}

func (r *run) inspectFile(info *recording.Info) {
	if info.HeaderDamage != nil {
		r.flaw("%s: %v", info.File, info.HeaderDamage)
	}
	if why := info.Unfinished(); why != "" {
		r.flaw("%s %s", info.File, why)
	}
	if info.Skipped > 0 {
		r.flaw("%s: %s between the blocks cannot be read", info.File, units.FormatNumber(info.Skipped, "byte"))
	}
}

// flaw says what is missing of a file, now and, unless there are many, at the end.
func (r *run) flaw(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.flaws = append(r.flaws, text)
	if !r.cmd.Strict {
		r.console.Warn("%s: what can be read is published", text)
	}
}

// damaged says that a block cannot be read, the first time.
func (r *run) damaged(err error) {
	switch n, fresh := r.damages.add(err); {
	case !fresh, r.cmd.Strict: // which ends the run
	case n <= maxDamageLines:
		r.console.Warn("%v: what is behind that block is published", err)
	case n == maxDamageLines+1:
		r.console.Warn("more blocks cannot be read: the last line counts them")
	}
}

// look reads all that is to be published.
//
//   - Errors: there is nothing; with --strict, a *recording.DamageError; the cause of the
//     end of ctx.
func (r *run) look(ctx context.Context) error {
	since := time.Now()
	r.console.Live(func() string { return cli.Waiting(since, "a look through the files") })
	n, said := 0, false
	var seen map[tags.Tag]struct{} // of a part of the recording, which may not have all tags
	if r.cmd.From.given || r.cmd.To.given {
		seen = make(map[tags.Tag]struct{})
	}
	for one, err := range r.files.Records(r.query) {
		if n++; n%checkEvery == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !said && time.Since(since) > session.WaitingInterval {
				said = true
				r.console.Say("still reading what is to be published: --no-check begins at once")
			}
		}
		switch {
		case err != nil:
			r.found.damage()
			r.damaged(err)
			if r.cmd.Strict {
				return fmt.Errorf("%w: leave --strict out to publish the rest", err)
			}
		case one.Event != nil:
			r.found.event(one.Event)
		default:
			r.found.message(&one.Message)
			if seen != nil {
				seen[one.Tag] = struct{}{}
			}
		}
	}
	if r.found.messages == 0 {
		return r.noMessages()
	}
	if limit := int(r.cmd.MaxMessageBytes); limit > 0 && r.found.largest > limit {
		return fmt.Errorf("a message of %d bytes is to be published, more than --max-message-bytes %d: raise it, or leave it out", r.found.largest, limit)
	}
	if seen != nil {
		var all []tags.Tag
		for t := range seen {
			all = append(all, r.mapper.of(t))
		}
		r.tags = tags.Of(all...)
	}
	if holes := r.found.holes(); holes != "" {
		r.console.Warn("what was recorded is not all that was published then: %s", holes)
	}
	return nil
}

// noMessages says why there is nothing to publish, of tags that there are.
func (r *run) noMessages() error {
	c := r.cmd
	if !c.From.given && !c.To.given {
		return errors.New("nothing to publish: no message can be read")
	}
	var end time.Time
	for _, f := range r.files.Readers {
		if last := f.Info().Last; last.After(end) {
			end = last
		}
	}
	var limits []string
	if c.From.given {
		limits = append(limits, fmt.Sprintf("from %v on (--from)", c.From))
	}
	if c.To.given {
		limits = append(limits, fmt.Sprintf("before %v (--to)", c.To))
	}
	return fmt.Errorf("nothing to publish %s: the files are about %s to %s, the first %v after their beginning",
		strings.Join(limits, " and "), r.begin.UTC().Format(time.RFC3339Nano), end.UTC().Format(time.RFC3339Nano), end.Sub(r.begin))
}
