// SPDX-License-Identifier: Apache-2.0

// Package rates is the commands tagbus hz and tagbus bw, which show how often messages of some
// tags come, and how many bytes.
//
// Both are told by those who count anyway: publishers, and receivers. That is exact, also
// where no message could be followed, and takes no message from anybody. A probe subscribes,
// and measures the time between messages.
package rates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/tags"
)

// Flags are those of both commands.
type Flags struct {
	Tags   tags.Set      `arg:"" help:"Tags to look at."`
	Window time.Duration `default:"1s" placeholder:"TIME" help:"Time for each rate. Default ${default}."`
	Count  int           `placeholder:"N" help:"Stop after so many windows. Default: never."`
	Head   int           `placeholder:"N" help:"Only the N tags with the highest rates. Default: all, in their order."`
	Probe  bool          `help:"Subscribe, and measure the times between messages as they arrive here. The policy is latest: no publisher ever waits for the probe, and what it was too slow for is counted as left out."`
}

// minWindow is about as often as processes answer.
const minWindow = 100 * time.Millisecond

// Check reports what is wrong with the flags.
func (f *Flags) Check() error {
	var errs []error
	if f.Tags.IsEmpty() {
		errs = append(errs, errors.New("the set of tags is empty"))
	}
	if f.Window < minWindow {
		errs = append(errs, fmt.Errorf("--window: got %v, want at least %v", f.Window, minWindow))
	}
	if f.Count < 0 {
		errs = append(errs, fmt.Errorf("--count: got %d, want 1 or more", f.Count))
	}
	return errors.Join(append(errs, tool.CheckHead(f.Head))...)
}

// Messages is the command hz.
type Messages struct{ Flags }

// Run runs the command.
func (m *Messages) Run(ctx context.Context, e *tool.Env) error { return m.run(ctx, e, false) }

// Bytes is the command bw.
type Bytes struct{ Flags }

// Run runs the command.
func (b *Bytes) Run(ctx context.Context, e *tool.Env) error { return b.run(ctx, e, true) }

func (f *Flags) run(ctx context.Context, e *tool.Env, bytes bool) (err error) {
	r := &run{Flags: f, env: e, out: newPrinter(e, f.Probe, bytes, f.Head), said: make(map[string]bool)}
	if f.Probe {
		return r.probe(ctx)
	}
	if r.watcher, err = e.Watcher(); err != nil {
		return err
	}
	return r.count(ctx)
}

// count shows what processes count.
func (r *run) count(ctx context.Context) error {
	if err := r.windows(ctx, r.counted); err != nil {
		return err
	}
	return errors.Join(r.lacks[:]...) // a window lacks what was not known at its beginning
}

// probe measures the times between messages.
func (r *run) probe(ctx context.Context) error {
	n, err := r.env.Node()
	if err != nil {
		return err
	}
	p := newProbe(r.Tags, cli.NewConsole("tagbus", r.env.Err, cli.Log{}))
	if err := p.subscribe(n); err != nil {
		return errors.Join(err, p.close(nil))
	}
	err = r.windows(ctx, func(context.Context) error { return r.out.gaps(p.window()) })
	if err == nil {
		fmt.Fprintln(r.env.Err, p.summary())
	}
	d := n.Directory()
	if ctx.Err() != nil {
		d = nil
	}
	return errors.Join(err, p.close(d))
}

// run is one run of a command.
type run struct {
	*Flags
	env     *tool.Env
	watcher *overview.Watcher
	out     *printer
	said    map[string]bool // notes
	looked  bool            // the directory has answered
	lacks   [2]error        // of tool.Unanswered, at the look before the last one and at that
}

// windows calls look once at the beginning of the first window and at the end of each.
//
//   - Result: nil when there were as many windows as --count says, or ctx has ended.
func (r *run) windows(ctx context.Context, look func(context.Context) error) error {
	tick := time.NewTicker(r.Window)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := look(ctx); err != nil || r.Count > 0 && n == r.Count {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// rate is what an instance has published or received of a tag in a window. In JSON the tag
// has the rates of the window.
type rate struct {
	Time     time.Time  `json:"time"`
	Role     state.Role `json:"role"`
	Instance string     `json:"instance"`
	Name     string     `json:"name,omitempty"`
	Host     string     `json:"host,omitempty"`
	state.Tag
}

// counted writes what was counted since the last look.
func (r *run) counted(ctx context.Context) error {
	serves := func(e *directory.Entry) bool { return e.Tags.Intersects(r.Tags) }
	o := r.watcher.Look(ctx, serves, state.Question{Tags: r.Tags}, r.env.Timeout)
	if ctx.Err() != nil {
		return nil
	}
	problem := directory.Incomplete(o.Problem)
	if problem != nil && len(o.Rows) == 0 {
		if !r.looked {
			return problem
		}
		r.note("%s", cli.Text(problem)) // it may go on by itself
		r.lacks = [2]error{r.lacks[1], &tool.StatusError{Code: cli.ExitFailed}}
		return nil
	}
	r.looked = true
	if problem != nil {
		r.note("the directory is not read whole: %s", cli.Text(problem))
	}
	r.lacks = [2]error{r.lacks[1], tool.Unanswered(o, serves)}
	dead := tool.DeadLines(o, serves)
	for _, line := range dead {
		r.note("%s", line)
	}
	if len(o.Rows) == 0 && len(dead) == 0 {
		r.note("no publisher or receiver of these tags is in %s yet: start one with the same --bus", r.env.Bus)
	}
	var rates []rate
	compared := false
	for i := range o.Rows {
		row := &o.Rows[i]
		name := cmp.Or(row.Entry.Name, row.Entry.Instance)
		switch {
		case row.State == nil:
			r.note("%s could not be asked: %s", name, cli.Text(row.Err))
		case row.Before == nil:
		default:
			compared = true
			rates = append(rates, between(row.Before, row.State)...)
		}
		if row.State != nil && len(row.State.Asked) == state.MaxTags {
			r.note("%s tells of %d tags at most: name fewer", name, state.MaxTags)
		}
	}
	if compared && len(rates) == 0 {
		r.note("no message of these tags has been published yet")
	}
	return r.out.rates(rates)
}

// note says something once.
func (r *run) note(format string, args ...any) {
	if text := line(format, args...); !r.said[text] {
		r.said[text] = true
		fmt.Fprintln(r.env.Err, text)
	}
}

// between returns the rates of the tags between two answers of an instance.
func between(before, now *state.State) (rates []rate) {
	seconds := overview.Passed(before, now).Seconds()
	if seconds <= 0 || now.Instance != before.Instance {
		return nil
	}
	for _, t := range now.Asked {
		var was state.Tag // of no message, unless it was known
		if i := slices.IndexFunc(before.Asked, func(b state.Tag) bool { return b.Tag == t.Tag }); i >= 0 {
			was = before.Asked[i]
		}
		if t.Messages < was.Messages || t.PayloadBytes < was.PayloadBytes {
			continue
		}
		messages, bytes := float64(t.Messages-was.Messages)/seconds, float64(t.PayloadBytes-was.PayloadBytes)/seconds
		t.MessageRate, t.ByteRate = &messages, &bytes
		rates = append(rates, rate{now.Time, now.Role, now.Instance, now.Name, now.Host, t})
	}
	return rates
}
