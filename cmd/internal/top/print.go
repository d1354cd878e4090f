// SPDX-License-Identifier: Apache-2.0

package top

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"syscall"
	"time"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
	"tagbus/cmd/internal/tool"
)

// printer writes tables, one after the other.
type printer struct {
	command  *Command
	out      io.Writer
	problems io.Writer
	json     bool
	width    int // of the terminal; 0: there is none
	look     func(context.Context) overview.Overview
}

// run prints a table at the end of each interval: rates are those of the interval.
//
//   - tables: 0 prints until ctx ends.
//   - Errors: those of the output, but not that its reader has gone; what the directory
//     reports, if it lists nothing for the first table or the last; those of tool.Denied of the last table.
func (p *printer) run(ctx context.Context, tables int) error {
	v := newView(p.command, "", false)
	v.plain, v.height = true, math.MaxInt
	ticker := time.NewTicker(p.command.Interval)
	defer ticker.Stop()
	p.look(ctx) // for rates
	var denied error
	for n := 0; tables == 0 || n < tables; n++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
		o := p.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case o.Problem != nil && len(o.Rows) == 0 && (n == 0 || n == tables-1):
			return o.Problem // in between it may go on by itself
		}
		v.show(o)
		if problem := v.problem(); problem != "" && p.aside(v) {
			fmt.Fprintf(p.problems, "tagbus: %s\n", problem)
		}
		if denied = tool.Denied(o); o.Problem == nil && len(o.Rows) == 0 && len(o.Dead) == 0 {
			fmt.Fprintln(p.problems, "tagbus: the bus is empty: start a publisher, or a receiver, with the same --bus")
		}
		if err := p.write(v, n); errors.Is(err, syscall.EPIPE) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return denied
}

// aside reports whether the problem of a view is for the error stream: objects have no place for
// it, and those of the directory have always been there.
func (p *printer) aside(v *view) bool { return p.json || v.seen.Problem != nil }

// write prints what a view has, in one piece.
func (p *printer) write(v *view, before int) error {
	w := bufio.NewWriterSize(p.out, 1<<16)
	var err error
	switch {
	case p.json && v.links:
		err = objects(w, v.paths)
	case p.json:
		err = objects(w, v.parties)
	default:
		if before > 0 {
			_, err = w.WriteString("\n")
		}
		for _, l := range p.table(v) {
			_, err = w.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	return errors.Join(err, w.Flush())
}

func objects[R any](w io.Writer, rows []R) error {
	encoder := json.NewEncoder(w)
	for i := range rows {
		if err := encoder.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// table returns the lines of a table, under one of totals and one of what is wrong.
func (p *printer) table(v *view) []string {
	room := p.width
	if room == 0 {
		room = 1 << 20
	}
	lines := []string{v.join(append([]part{{normal, v.seen.Time.Format(time.TimeOnly)}}, v.sums()...), room)}
	if problem := v.problem(); problem != "" && !p.aside(v) {
		lines = append(lines, screen.Cut(problem, room))
	}
	return append(lines, v.table(room)...)
}
