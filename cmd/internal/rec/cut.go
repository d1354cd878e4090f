// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// Cut is the command line of cut.
type Cut struct {
	tool.NoBus

	Files []string        `arg:"" name:"file" help:"The file of a recording, or all its parts."`
	Out   string          `required:"" placeholder:"FILE" help:"The new recording, which must not exist. It is there only if all of it is."`
	Codec recording.Codec `default:"none" placeholder:"CODEC" help:"How blocks are compressed: none, s2 or zstd. Default ${default}."`
	Selection
}

// Check reports what is wrong with the flags.
func (c *Cut) Check() error {
	if !c.chooses() {
		return errors.New("nothing says what is to be cut out: want --tags, --from, --to or --publisher")
	}
	return nil
}

// Run makes the recording.
func (c *Cut) Run(ctx context.Context, e *tool.Env) (err error) {
	rs, closeAll, err := Open(ctx, c.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	groups := rs.Recordings()
	if len(groups) > 1 {
		return &cli.UsageError{Err: errors.New("the files belong to different recordings: tagbus rec merge makes one of them")}
	}
	rs = groups[0]
	q, err := c.query(rs)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	h := rs[0].Info().Header
	h.ID, h.Part, h.Created = recording.ID{}, 0, time.Time{}
	if !c.Tags.IsEmpty() {
		h.Tags = c.Tags
	}
	out, err := create(c.Out, h, c.Codec)
	if err != nil {
		return err
	}
	k := newCutter(rs, q, out, &damage{to: e.Err})
	if err := out.close(k.run(ctx)); err != nil {
		return err
	}
	if err := c.say(e, k); err != nil {
		return err
	}
	k.damage.incomplete(k.why.lines())
	return k.damage.end()
}

// say says what was written.
func (c *Cut) say(e *tool.Env, k *cutter) error {
	if e.JSON {
		return cli.WriteJSON(e.Out, map[string]any{"file": c.Out, "messages": k.out.messages, "events": k.out.events, "missing": append([]string{}, k.why.lines()...)})
	}
	text := sanitize.Linef("%s: %s and %s", c.Out, units.FormatNumber(k.out.messages, "message"), units.FormatNumber(k.out.events, "event"))
	_, err := fmt.Fprintln(e.Out, text+k.why.below())
	return err
}

// cutter makes the cut. What it adds lets a verification be honest: which publishers were
// there when it begins, and behind which message it begins for each of their tags.
type cutter struct {
	rs     recording.Readers // of one recording
	q      recording.Query
	out    *output
	damage *damage

	begun    map[infoKey]bool    // the recording says where they begin
	named    int64               // tags that events alone may still name
	before   map[string]tags.Set // that publishers had when it begins, by instance
	peer     *bus.Peer           // of the last message
	relevant map[string]bool     // publishers that have something of the cut, by instance
	stopped  bool                // by an event of the recording
	why      missing
}

func newCutter(rs recording.Readers, q recording.Query, out *output, d *damage) *cutter {
	return &cutter{rs: rs, q: q, out: out, damage: d, begun: make(map[infoKey]bool), before: make(map[string]tags.Set), relevant: make(map[string]bool), named: mostEventTags(rs)}
}

// run writes the records of the cut.
func (k *cutter) run(ctx context.Context) error {
	if !k.q.From.IsZero() {
		if err := k.writePresence(ctx); err != nil {
			return err
		}
	}
	if err := each(ctx, k.rs, k.q, k.damage, k.record); err != nil {
		return err
	}
	if k.out.messages == 0 {
		if err := k.damage.noMessage(ctx, k.rs, k.q); err != nil {
			return err
		}
	}
	for _, p := range problems(k.rs, k.q.From, k.q.To) {
		k.why.add(p.text)
	}
	if k.damage.blocks > 0 {
		k.why.add(blocksMissing(k.damage.blocks))
	}
	if k.stopped && len(k.why.first) == 0 {
		return nil
	}
	return k.out.event(Stopped(k.end(), k.why.lines(), "cut from "+sanitize.Text(k.rs[0].Info().File)))
}

// end returns the time of the last event.
func (k *cutter) end() time.Time {
	for _, t := range []time.Time{k.out.last, k.q.From, k.rs[0].Info().First} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Now()
}

// record writes a record, and in front of the first message of a tag where it begins.
func (k *cutter) record(r recording.Record) error {
	if e := r.Event; e != nil {
		return k.event(e)
	}
	p := r.Publisher
	instance := instanceOf(p)
	if p != k.peer {
		k.peer = p
		k.relevant[instance] = true
	}
	if !k.q.From.IsZero() && !k.begun[infoKey{instance, r.Tag}] {
		k.begun[infoKey{instance, r.Tag}] = true
		at := &recording.Event{Kind: recording.Position, Time: r.Time, Peer: p, Tag: r.Tag, Count: r.Counter - 1}
		if err := k.out.event(at); err != nil {
			return err
		}
	}
	return k.out.append(r)
}

// event writes an event, unless it is of a publisher that has nothing of the cut.
func (k *cutter) event(e *recording.Event) error {
	instance := instanceOf(e.Peer)
	switch e.Kind {
	case recording.Position:
		if key := (infoKey{instance, e.Tag}); !k.begun[key] {
			if k.before[instance].Contains(e.Tag) {
				return nil // it is of messages in front of the cut, too: the first one in it says where it begins
			}
			if k.named--; k.named < 0 {
				return errEventTags
			}
			k.begun[key] = true
		}
		k.relevant[instance] = true
	case recording.Joined, recording.Gap:
		k.relevant[instance] = true
	case recording.Lost, recording.Ended, recording.Vanished:
		if !k.q.Tags.IsEmpty() && !k.relevant[instance] {
			return nil
		}
	case recording.Stopped:
		k.stopped = true
		k.why.addStopped(e)
	case recording.Stepped: // of the recorder: it is about every cut
	}
	return k.out.event(e)
}
