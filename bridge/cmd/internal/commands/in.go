// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"tagbus/bridge/convert"
	"tagbus/bridge/durable"
	"tagbus/bridge/in"
	"tagbus/bus"
	"tagbus/bus/metrics"
	"tagbus/cmd/programs"
	"tagbus/tags"
)

// In is the command line of tagbus-bridge in.
type In struct {
	Log

	Tags     tags.Set       `placeholder:"SET" help:"Publish the messages of these tags only. Default: of all."`
	From     Moment         `placeholder:"WHEN" help:"Begin with the record that has this number in the log, or was stored at this time: 1200, or 2026-11-24T09:30:00Z (RFC 3339), or now by the clock of this host. Default: the beginning."`
	Until    Moment         `placeholder:"WHEN" help:"End in front of the record that has this number, or was stored at this time. Default: the present end."`
	Position string         `placeholder:"FILE" help:"Keep in this file how far the log was published, and go on there when begun again: --from is about the first time. It is made if it is not there, and is of this bridge alone. Default: none, and each run begins where --from says."`
	Follow   bool           `help:"Go on with what is written to the log later, until a signal. Default: end at the present end."`
	Speed    float64        `placeholder:"FACTOR" help:"Publish so many times as fast as messages came, for example 1 or 10. Default: as fast as subscribers take them."`
	Wait     int            `name:"wait-subscribers" default:"1" placeholder:"N" help:"Publish nothing before N subscribers want all of the tags together. Default ${default}."`
	Listen   netip.AddrPort `default:"127.0.0.1:0" placeholder:"ADDR:PORT" help:"Address to listen on, as that of publisher. Default ${default}, which no other host can reach."`

	MaxMessageBytes programs.Bytes `default:"1MiB" placeholder:"SIZE" help:"Largest message. Default ${default}."`
}

// end returns the moment as the end of a reader.
func (m Moment) end() durable.End {
	if m.Number {
		return durable.End{Before: m.After + 1}
	}
	return durable.End{Time: m.Time}
}

// Moment is where a reader begins, or ends.
type Moment struct {
	durable.Start
	Number bool // it is the number of a record
}

// UnmarshalText reads a number of a record, a time, or now.
func (m *Moment) UnmarshalText(text []byte) error {
	if string(text) == "now" {
		*m = Moment{Start: durable.Start{Time: time.Now()}}
		return nil
	}
	if n, err := strconv.ParseUint(string(text), 10, 64); err == nil && n > 0 {
		*m = Moment{durable.Start{After: durable.Position(n - 1)}, true}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return fmt.Errorf("got %q, want the number of a record, from 1, a time such as 2026-11-24T09:30:00Z, or now", text)
	}
	*m = Moment{Start: durable.Start{Time: at}}
	return nil
}

// Check implements programs.ServiceCommand.
func (i *In) Check() error {
	return inFlags(i.config("").Validate(), i.check())
}

func (i *In) config(name string) in.Config {
	return in.Config{
		Query: durable.Query{Tags: i.Tags, Start: i.From.Start, End: i.Until.end(), Follow: i.Follow}, Position: i.Position, Speed: i.Speed, Subscribers: i.Wait,
		Publisher: bus.PublisherConfig{
			Common:    bus.Common{Name: named(name)},
			Listening: bus.Listening{Listen: i.Listen},
			Sending:   bus.Sending{MaxMessageBytes: int(i.MaxMessageBytes)},
		},
	}
}

// InSummary is what a run has published.
type InSummary struct {
	Place

	Messages uint64 `json:"messages"`
	Bytes    uint64 `json:"bytes"` // payload of those
	Records  uint64 `json:"records"`
	Chains   int    `json:"chains"`
	Lost     uint64 `json:"lost"`
	Missing  uint64 `json:"missing"`
	Unknown  uint64 `json:"unknown_ends"`
	Last     uint64 `json:"last_record"`
	Early    bool   `json:"ended_early"` // by a signal or --duration, before the end of the span

	Undelivered uint64 `json:"undelivered"` // not received by subscribers, counted for each
	Unconfirmed uint64 `json:"unconfirmed"` // lost or received: their subscribers have gone without saying so
}

// String returns the summary as a line for people.
func (s InSummary) String() string {
	line := fmt.Sprintf("%d messages, %d bytes, of %d publishers and tags in %v up to record %d; %d lost before the log, %d missing in it, %d ends unknown",
		s.Messages, s.Bytes, s.Chains, s.Place, s.Last, s.Lost, s.Missing, s.Unknown)
	if s.Undelivered+s.Unconfirmed > 0 {
		line += fmt.Sprintf("; %d not received by subscribers, %d unconfirmed", s.Undelivered, s.Unconfirmed)
	}
	if s.Early {
		line += "; ended by a signal or --duration, before the end of the log or of --until"
	}
	return line
}

// Run implements programs.ServiceCommand.
func (i *In) Run(ctx context.Context, e *programs.ServiceEnv) (fmt.Stringer, error) {
	log, err := i.open(ctx, e.Name, i.Tags, e.Say)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	cfg := i.config(e.Name)
	cfg.Publisher.OnEvent, cfg.Publisher.Monitor, cfg.OnProblem = e.Event, e.Monitor, e.Warn
	cfg.Hurry = e.Hurry
	cfg.OnPublisher = func(p *bus.Publisher) error {
		e.Show(p.State)
		switch n := i.Wait; {
		case n == 1:
			e.Say("publishes on %v, and waits for 1 subscriber that wants all of the tags (--wait-subscribers)", p.Addr())
		case n > 1:
			e.Say("publishes on %v, and waits for %d subscribers that together want all of the tags (--wait-subscribers)", p.Addr(), n)
		}
		return e.Register(metrics.OfPublisher(p.Stats))
	}
	e.Ready()
	report, err := in.Run(ctx, e.Node, log, cfg)
	sum := InSummary{
		Place: i.place(), Messages: report.Messages, Bytes: report.Bytes, Records: report.Records, Chains: report.Chains,
		Lost: report.Lost, Missing: report.Hole, Unknown: report.Unknown, Last: uint64(report.Last),
		Undelivered: report.Undelivered, Unconfirmed: report.Unconfirmed,
	}
	if position := (*in.PositionError)(nil); errors.As(err, &position) {
		err = inFlags(err)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		sum.Early, err = true, without(err, context.Cause(ctx))
	}
	if err == nil && report.Records == 0 && !sum.Early && !i.Follow && i.Position == "" { // with a position nothing may be new
		err = fmt.Errorf("%s %w", log.Name(), convert.ErrEmpty)
	}
	if err == nil && report.Hole > 0 {
		err = fmt.Errorf("%d messages are in no record: the retention of the log has dropped them", report.Hole)
	}
	return sum, err
}

// without returns an error of joined ones without those that are the cause of an end in order.
func without(err, cause error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if errors.Is(err, cause) {
			return nil
		}
		return err
	}
	var rest []error
	for _, one := range joined.Unwrap() {
		rest = append(rest, without(one, cause))
	}
	return errors.Join(rest...)
}
