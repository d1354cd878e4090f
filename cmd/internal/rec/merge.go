// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// Merge is the command line of merge.
type Merge struct {
	tool.NoBus

	Files  []string        `arg:"" name:"file" help:"Files of recordings: parts of one, or recordings of several recorders, in any order."`
	Out    string          `required:"" placeholder:"FILE" help:"The new recording, which must not exist. It is there only if all of it is."`
	Codec  recording.Codec `default:"none" placeholder:"CODEC" help:"How blocks are compressed: none, s2 or zstd. Default ${default}."`
	Buffer units.Bytes     `default:"256MiB" placeholder:"SIZE" help:"Most memory for messages that wait until another recording has those that belong in front of them. Default ${default}."`
}

// Run makes the recording.
func (c *Merge) Run(ctx context.Context, e *tool.Env) (err error) {
	rs, closeAll, err := Open(ctx, c.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	m := &merger{damage: &damage{to: e.Err}, most: int(c.Buffer)}
	for _, g := range rs.Recordings() {
		m.groups = append(m.groups, onceEach(e, g))
	}
	if m.out, err = create(c.Out, mergedHeader(m.groups), c.Codec); err != nil {
		return err
	}
	run := m.union
	if len(m.groups) == 1 {
		run = m.parts
	}
	if err := m.out.close(run(ctx)); err != nil {
		return err
	}
	if err := c.say(e, m); err != nil {
		return err
	}
	m.damage.incomplete(m.why.lines())
	return m.damage.end()
}

// onceEach returns the parts of one recording, of which each is there once: the file with
// the most messages.
func onceEach(e *tool.Env, parts recording.Readers) (once recording.Readers) {
	for _, r := range parts {
		last := len(once) - 1
		if last < 0 || once[last].Info().Part != r.Info().Part {
			once = append(once, r)
			continue
		}
		left, kept := r.Info(), once[last].Info()
		if left.Messages > kept.Messages {
			once[last] = r
			left, kept = kept, left
		}
		fmt.Fprintln(e.Err, sanitize.Linef("%s is the same part as %s, and is left out", left.File, kept.File))
	}
	return once
}

// mergedHeader returns the header of a recording that is made of others.
func mergedHeader(groups []recording.Readers) recording.Header {
	h := groups[0][0].Info().Header
	h.ID, h.Part, h.Created = recording.ID{}, 0, time.Time{}
	for _, g := range groups[1:] {
		o := g[0].Info().Header
		h.Tags = h.Tags.Union(o.Tags)
		if o.Policy != h.Policy {
			h.Policy = ""
		}
		if o.Host != h.Host {
			h.Host = ""
		}
	}
	return h
}

// say says what was written.
func (c *Merge) say(e *tool.Env, m *merger) error {
	if e.JSON {
		return cli.WriteJSON(e.Out, map[string]any{
			"file": c.Out, "recordings": len(m.groups), "messages": m.out.messages, "events": m.out.events,
			"duplicates": m.duplicates, "missing": append([]string{}, m.why.lines()...),
		})
	}
	text := sanitize.Linef("%s: %s and %s of %s; %s dropped", c.Out, units.FormatNumber(m.out.messages, "message"),
		units.FormatNumber(m.out.events, "event"), units.FormatNumber(len(m.groups), "recording"), units.FormatNumber(m.duplicates, "duplicate"))
	_, err := fmt.Fprintln(e.Out, text+m.why.below())
	return err
}

// merger makes one recording of several.
type merger struct {
	groups     []recording.Readers // the parts of each recording
	out        *output
	damage     *damage
	most       int // bytes of messages that wait
	duplicates uint64
	why        missing
}

// maxHoles bounds the memory for what is missing in the recordings.
const maxHoles = 4 << 20

// errHoles is returned if more is missing.
var errHoles = fmt.Errorf("more than %d holes: merge less at once, by tag or time (tagbus rec cut)", maxHoles)

// errEventTags is returned if events alone name more tags than a recorder can have.
var errEventTags = errors.New("the events of the files name more tags than can be followed: merge or cut less at once, by tag (tagbus rec cut --tags)")

// mostEventTags returns how many tags events alone may name: more than a recorder can have.
func mostEventTags(rs recording.Readers) int64 { return 4 * recording.MostLostSeries(rs...) }

// parts writes the parts of one recording, without what is there twice.
func (m *merger) parts(ctx context.Context) error {
	seen := make(map[infoKey]*spans)
	holes := 0
	hasEnded := false
	err := each(ctx, m.groups[0], recording.Query{}, m.damage, func(r recording.Record) error {
		if e := r.Event; e != nil {
			if e.Kind == recording.Stopped {
				hasEnded = true
				m.why.addStopped(e)
			}
			return m.out.append(r)
		}
		s := seen[keyOf(r)]
		if s == nil {
			s = new(spans)
			seen[keyOf(r)] = s
		}
		before := s.count
		if !s.add(r.Counter) {
			m.duplicates++
			return nil
		}
		if holes += s.count - before; holes > maxHoles+len(seen) {
			return errHoles
		}
		return m.out.append(r)
	})
	if err != nil {
		return err
	}
	for _, p := range problems(m.groups[0], time.Time{}, time.Time{}) {
		m.why.add(p.text)
	}
	if m.damage.blocks > 0 {
		m.why.add(blocksMissing(m.damage.blocks))
	}
	if hasEnded && len(m.why.first) == 0 {
		return nil
	}
	return m.end()
}

// end writes the last event.
func (m *merger) end() error {
	at := m.out.last
	if at.IsZero() {
		at = time.Now()
	}
	return m.out.event(Stopped(at, m.why.lines(), "merged from "+units.FormatNumber(len(m.groups), "recording")))
}

// keyOf returns the series of a message.
func keyOf(r recording.Record) infoKey { return infoKey{instanceOf(r.Publisher), r.Tag} }

// sortedKeys returns the keys in the order of tags and publishers.
func sortedKeys[V any](m map[infoKey]V) []infoKey {
	keys := make([]infoKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b infoKey) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.instance, b.instance)) })
	return keys
}
