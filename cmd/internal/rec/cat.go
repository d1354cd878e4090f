// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// Cat is the command line of cat.
type Cat struct {
	tool.NoBus

	Files []string     `arg:"" name:"file" help:"Files of recordings: the parts of one, or several recordings, which are read together in the order of time."`
	Print printer.Kind `default:"text" placeholder:"FORMAT" help:"How to print messages: hex, text or json (a line each, safe to show), or none (only the events). Default ${default}, with --json json."`
	Selection
	Head           int    `short:"n" placeholder:"N" help:"Only the first N messages, and the events before them."`
	NoEvents       bool   `help:"Print messages alone."`
	Payloads       string `placeholder:"FILE" help:"Description of payloads in JSON, as of tagbus rec convert: the objects of --print json have their fields, too. Default: none."`
	NoRecordHeader bool   `help:"Take messages as they are. Without this flag the record header, which publisher puts before the packets of a capture, is taken off."`
}

// Check reports what is wrong with the flags.
func (c *Cat) Check() error { return tool.CheckHead(c.Head) }

// Run prints the records.
func (c *Cat) Run(ctx context.Context, e *tool.Env) (err error) {
	rs, closeAll, err := Open(ctx, c.Files)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	q, err := c.query(rs)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	if e.JSON && c.Print.Prints() {
		c.Print = printer.JSON
	}
	payloads, err := printer.Payloads(c.Payloads, c.Print)
	if err != nil {
		return err
	}
	q.EventsOnly = !c.Print.Prints()
	out := bufio.NewWriterSize(e.Out, 64<<10)
	p := &catPrinter{
		cmd: c, out: out, asJSON: e.JSON || c.Print == printer.JSON,
		printer: printer.Printer{Kind: c.Print, To: out, Time: true, Payloads: payloads},
	}
	d := &damage{to: e.Err}
	err = each(ctx, rs, q, d, p.print)
	if err = errors.Join(err, out.Flush()); err != nil {
		return err
	}
	if c.Head == 0 || p.messages < c.Head { // else the end was not asked for
		d.missing(Incomplete(rs, q, 0))
	}
	if p.messages == 0 && c.chooses() && !q.EventsOnly {
		if err := d.noMessage(ctx, rs, q); err != nil {
			return err
		}
	}
	return d.end()
}

// catPrinter prints records.
type catPrinter struct {
	cmd      *Cat
	out      io.Writer
	asJSON   bool
	printer  printer.Printer
	messages int
}

// print prints a record.
func (p *catPrinter) print(r recording.Record) error {
	if r.Event != nil {
		if p.cmd.NoEvents {
			return nil
		}
		return p.event(r.Event)
	}
	packet := record.Packet{Data: r.Data}
	if !p.cmd.NoRecordHeader {
		if opened, err := record.Open(r.Data); err == nil {
			packet = opened
		}
	}
	if err := p.printer.Print(printer.Line{Message: r.Message.Message, Packet: packet, At: r.Time}); err != nil {
		return err
	}
	if p.messages++; p.messages == p.cmd.Head {
		return errStop
	}
	return nil
}

// eventObject is an event as --json prints it.
type eventObject struct {
	Event     string    `json:"event"`
	Time      string    `json:"time"`
	Publisher string    `json:"publisher,omitempty"` // its instance
	Name      string    `json:"name,omitempty"`
	Host      string    `json:"host,omitempty"`
	Tag       *tags.Tag `json:"tag,omitempty"`
	Tags      string    `json:"tags,omitempty"`
	Count     *uint64   `json:"count,omitempty"`
	Step      *float64  `json:"step_seconds,omitempty"` // of the clock: back if it is negative
	Cause     string    `json:"cause,omitempty"`
	Failed    bool      `json:"failed,omitempty"`
	Text      string    `json:"text,omitempty"`
}

// event prints an event: a line that begins with --, or an object.
func (p *catPrinter) event(e *recording.Event) error {
	at := e.Time.UTC().Format(printer.TimeFormat)
	if !p.asJSON {
		_, err := fmt.Fprintf(p.out, "-- %s %s\n", at, sanitize.Line(e.String()))
		return err
	}
	o := eventObject{Event: e.Kind.String(), Time: at, Tags: e.Tags.String(), Failed: e.Failed, Text: e.Text}
	if e.Peer != nil {
		o.Publisher, o.Name, o.Host = e.Peer.Instance, e.Peer.Name, e.Peer.Host
	}
	switch e.Kind {
	case recording.Gap:
		o.Tag, o.Count, o.Cause = &e.Tag, &e.Count, e.Cause.String()
	case recording.Position:
		o.Tag, o.Count = &e.Tag, &e.Count
	case recording.Stepped:
		step := e.Step().Seconds()
		o.Step = &step
	default:
	}
	return cli.WriteJSON(p.out, o)
}
