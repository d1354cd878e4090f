// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bridge/out"
	"tagbus/bus"
	"tagbus/bus/metrics"
	"tagbus/cmd/programs"
	"tagbus/tags"
)

// Out is the command line of tagbus-bridge out.
type Out struct {
	Log

	Tags    tags.Set      `required:"" placeholder:"SET" help:"Tags to write, of every publisher that has or will have them: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas, or * for all."`
	Policy  bus.Policy    `default:"block" placeholder:"POLICY" help:"What publishers do when the log is slow for so long that --held-bytes wait: block (they wait), drop-newest, drop-oldest, latest, sample:N or disconnect:TIME, as for subscriber. What is lost is in the log by number. Default ${default}."`
	Replay  int           `placeholder:"N" help:"Begin with the newest N messages of each tag that the publishers have kept (publisher --cache): they fill what was missed while no bridge ran. Default: only with what is new."`
	Absence time.Duration `default:"30s" placeholder:"TIME" help:"How long publishers that the log knows may take to come back after the start; then the log says that their end is unknown. Default ${default}."`

	HeldBytes      programs.Bytes `default:"64MiB" placeholder:"SIZE" help:"Memory for what waits for the log, before reading stops. Default ${default}."`
	Spool          string         `placeholder:"DIR" help:"Folder for what waits for the log beyond half of --held-bytes, of this bridge alone; it is made if it is not there. What is in it when the bridge ends goes to the log at the next start. Its files are recordings. Default: none."`
	SpoolBytes     programs.Bytes `default:"1GiB" placeholder:"SIZE" help:"How much the files of --spool may have, at least --held-bytes. Default ${default}."`
	SpoolPatience  time.Duration  `default:"1m" placeholder:"TIME" help:"How long the file system of --spool may do nothing before the bridge goes on without it. Default ${default}."`
	RecordBytes    programs.Bytes `default:"256KiB" placeholder:"SIZE" help:"How large a record with several messages may be, at most what the log takes. Default ${default}."`
	RecordMessages int            `placeholder:"N" help:"How many messages a record may have; 1: each has a record of its own. Default: no limit."`
	DrainTimeout   time.Duration  `default:"30s" placeholder:"TIME" help:"How long the log may take at the end for what has come. Default ${default}."`
}

// Check implements programs.ServiceCommand.
func (o *Out) Check() error {
	var drain error
	if o.DrainTimeout < 0 {
		drain = fmt.Errorf("--drain-timeout: got %v, want 0 or more", o.DrainTimeout)
	}
	return inFlags(o.config("").Validate(), o.check(), drain)
}

func (o *Out) config(name string) out.Config {
	return out.Config{
		Tags: o.Tags, Name: named(name), HeldBytes: int(o.HeldBytes), Spool: o.Spool, SpoolBytes: o.spoolBytes(), SpoolPatience: o.SpoolPatience, RecordBytes: int(o.RecordBytes), RecordMessages: o.RecordMessages, Absence: o.Absence,
		Subscription: bus.SubscriptionConfig{Policy: o.Policy, Replay: o.Replay},
	}
}

// spoolBytes returns the bound of the spool. Without one it does not matter.
func (o *Out) spoolBytes() int64 {
	if o.Spool == "" {
		return 0
	}
	return int64(o.SpoolBytes)
}

// OutSummary is what a run has written.
type OutSummary struct {
	Place

	Messages uint64 `json:"messages"`
	Records  uint64 `json:"records"`
	Bytes    uint64 `json:"bytes"` // of the records
	Lost     uint64 `json:"lost"`  // that records name
	Passed   uint64 `json:"passed"`
	Retries  uint64 `json:"retries"`
	Pauses   uint64 `json:"pauses"`
	Spooled  uint64 `json:"spooled"` // messages that are left in the spool
}

// String returns the summary as a line for people.
func (s OutSummary) String() string {
	line := fmt.Sprintf("%d messages in %d records, %d bytes, in %v; %d lost", s.Messages, s.Records, s.Bytes, s.Place, s.Lost)
	if s.Passed > 0 {
		line += fmt.Sprintf("; %d were there already", s.Passed)
	}
	if s.Pauses > 0 {
		line += fmt.Sprintf("; reading stopped %d times for the log", s.Pauses)
	}
	return line
}

// Run implements programs.ServiceCommand.
func (o *Out) Run(ctx context.Context, e *programs.ServiceEnv) (fmt.Stringer, error) {
	log, err := o.open(ctx, e.Name, o.Tags, e.Say)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // it has nothing to lose then
	cfg := o.config(e.Name)
	cfg.Monitor, cfg.OnEvent, cfg.OnProblem = e.Monitor, e.Event, e.Warn
	b, err := out.Start(ctx, e.Node, log, cfg)
	if err != nil {
		return nil, err
	}
	err = e.Register(metrics.OfSubscriber(b.Subscriber().Stats), newCollector(b.Stats))
	if err == nil {
		e.Show(b.Subscriber().State)
		e.Say("writing %v to %s", o.Tags, log.Name())
		e.Ready()
		select {
		case <-ctx.Done():
		case <-b.Failed():
		}
	}
	closing, cancel := context.WithTimeout(e.Hurry, o.DrainTimeout)
	defer cancel()
	err = errors.Join(err, b.Close(closing))
	st := b.Stats()
	sum := OutSummary{
		Place: o.place(), Messages: st.Messages, Records: st.Records, Bytes: st.Bytes, Lost: st.Lost, Passed: st.Passed, Retries: st.Retries, Pauses: st.Pauses, Spooled: st.Spooled,
	}
	if err == nil && st.Lost > 0 && o.Policy.Lossless() {
		err = fmt.Errorf("%d messages were lost: the log says where and why", st.Lost)
	}
	return sum, err
}
