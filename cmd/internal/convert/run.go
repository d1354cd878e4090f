// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/rec"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/payload"
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// sink writes records in one format.
type sink interface {
	message(m *recording.Message) error
	event(e *recording.Event) error
	// end writes what follows the last record.
	end() error
}

// job is one conversion.
type job struct {
	*Command
	env *tool.Env
	out *output

	messages, events, lost uint64
	last                   time.Time // the latest of a record; zero: there was none
	damaged                uint64    // blocks or packets
	notWhole               bool      // the recordings are not
	notes                  []string  // what the numbers do not say
	payloads               payload.Set
}

// Run converts.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	switch aLog, err := c.aLog(); {
	case err != nil:
		return &cli.UsageError{Err: err}
	case aLog:
		return c.fromLog(e)
	}
	captures, err := areCaptures(c.Files)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	j := &job{Command: c, env: e}
	if c.Payloads != "" {
		if j.payloads, err = payload.Load(c.Payloads); err != nil {
			return &cli.UsageError{Err: fmt.Errorf("--payloads: %w", err)}
		}
	}
	switch {
	case captures && c.format != formatNone:
		return &cli.UsageError{Err: errors.New("--to: captures become a recording: leave it out, and convert the recording")}
	case captures:
		err = j.fromCaptures(ctx)
	case c.format == formatNone:
		return &cli.UsageError{Err: errors.New("--to: what is the recording to become? want mcap, pcapng, length32 or csv; tagbus rec cut and merge make recordings")}
	case c.Tag != nil:
		return &cli.UsageError{Err: errors.New("--tag is for captures: choose messages of a recording by --tags")}
	default:
		err = j.fromRecordings(ctx)
	}
	if err != nil {
		return err
	}
	return j.end()
}

// fromRecordings makes another file of recordings.
func (j *job) fromRecordings(ctx context.Context) (err error) {
	rs, closeAll, err := rec.Open(ctx, j.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	var begin time.Time
	for _, r := range rs {
		i := r.Info()
		if !i.First.IsZero() && (begin.IsZero() || i.First.Before(begin)) {
			begin = i.First
		}
		j.noteFile(&i)
	}
	q, err := j.query(begin)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if j.out, err = j.create(j.env.Out); err != nil {
		return err
	}
	return j.out.close(j.copy(ctx, rs, q))
}

// noteFile says what is damaged in a file beside its blocks. What is missing is said behind
// the last record.
func (j *job) noteFile(i *recording.Info) {
	if i.Skipped > 0 {
		j.damaged++
	}
}

// copy writes what is asked for of recordings.
func (j *job) copy(ctx context.Context, rs recording.Readers, q recording.Query) error {
	s, err := j.sink(rs, q)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	n, blocks := 0, uint64(0)
	for r, err := range rs.Records(q) {
		if n++; (n%1024 == 0 || err != nil) && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		damage := (*recording.DamageError)(nil)
		switch {
		case errors.As(err, &damage):
			blocks++
			j.damage(err)
		case err == nil:
			err = j.record(s, &r)
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
	if j.messages == 0 {
		text, err := rec.NoMessage(ctx, rs, q, "--until")
		if err != nil {
			return err
		}
		j.note("%s", text)
	}
	if err := j.incomplete(s, rec.Incomplete(rs, q, blocks)); err != nil {
		return err
	}
	if m, ok := s.(*mcapSink); ok {
		for _, note := range m.notes() {
			j.note("%s", note)
		}
	}
	return s.end()
}

// incomplete says what is missing in the recordings, and writes it as their last event:
// the new file is no more whole than they are.
func (j *job) incomplete(s sink, why []string) error {
	j.notWhole = len(why) > 0
	for _, w := range why {
		j.note("not whole: %s", w)
	}
	if len(why) == 0 || j.last.IsZero() {
		return nil
	}
	return j.record(s, &recording.Record{Event: rec.Stopped(j.last, why, "converted by tagbus rec convert")})
}

// record writes a record.
func (j *job) record(s sink, r *recording.Record) error {
	if r.Event == nil {
		j.messages++
		if r.Time.After(j.last) {
			j.last = r.Time
		}
		return s.message(&r.Message)
	}
	if r.Event.Time.After(j.last) {
		j.last = r.Event.Time
	}
	j.events++
	if r.Event.Kind == recording.Gap && r.Event.Cause != recording.CauseLeftOut {
		j.lost += r.Event.Count
	}
	return s.event(r.Event)
}

// sink returns what writes the format that is asked for.
func (j *job) sink(rs recording.Readers, q recording.Query) (sink, error) {
	var about []map[string]string
	for _, g := range rs.Recordings() {
		about = append(about, aboutOf(g[0].Info().Header))
	}
	switch j.format {
	case formatPcapng:
		return newPcapngSink(j.out, comment(about)), nil
	case formatLength32:
		return newLength32Sink(j.out, j.Mixed)
	case formatCSV:
		return newCSVSink(j.out, j.Data), nil
	default:
		series, _ := rs.Series() // damage shows again where the block is read
		l, err := layoutOf(series, q, j.payloads)
		if err != nil {
			return nil, err
		}
		if !l.perTag {
			if j.payloads != nil {
				j.note("more than %d channels for tags: --payloads is not used; choose tags with --tags", mostSeries)
			}
			j.note("more than %d tags: each publisher has one channel, and the tag stands in front of the data", mostSeries)
		}
		return newMCAPSink(j.out, l, j.compression(), about, j.payloads)
	}
}

// aboutOf returns what the header of a recording says.
func aboutOf(h recording.Header) map[string]string {
	about := map[string]string{"id": h.ID.String(), "created": "", "tags": "", "host": h.Host, "name": h.Name, "version": h.Version, "policy": h.Policy}
	if !h.Created.IsZero() {
		about["created"] = h.Created.UTC().Format(time.RFC3339Nano)
	}
	about["tags"] = h.Tags.String()
	for key, value := range about {
		about[key] = sanitize.Line(value)
		if value == "" {
			delete(about, key)
		}
	}
	return about
}

// comment returns what headers say as a text of a capture.
func comment(about []map[string]string) (text string) {
	for i, a := range about {
		if i > 0 {
			text += "\n"
		}
		text += fmt.Sprintf("recording %s, by %s at %s, of tags %s", a["id"], a["name"], a["host"], a["tags"])
	}
	const most = 32 << 10 // options of pcapng have 16 bits for their length
	return sanitize.Cut(text, most)
}

// maxDamage is how much damage is named one by one.
const maxDamage = 20

// damage names what cannot be read.
func (j *job) damage(err error) {
	if j.damaged++; j.damaged <= maxDamage {
		fmt.Fprintf(j.env.Err, "%s: it is passed over\n", cli.Text(err))
	}
}

func (j *job) note(format string, args ...any) {
	j.notes = append(j.notes, sanitize.Linef(format, args...))
}
