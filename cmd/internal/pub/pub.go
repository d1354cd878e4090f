// SPDX-License-Identifier: Apache-2.0

// Package pub is the command tagbus pub: the command publisher with what one types in a
// hurry. Its input is lines, and it waits for a subscriber, for without one a message is
// lost.
package pub

import (
	"context"
	"fmt"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

const name = "tagbus pub"

// Command is the command line of tagbus pub. What messages of the command publisher name
// are flags here, too: some by another name that both take.
type Command struct {
	Tags  tags.Set `arg:"" help:"Tag of the messages; of several each in turn: tags, ranges FIRST-LAST, separated by commas."`
	Input string   `arg:"" optional:"" placeholder:"FILE|-" help:"Publish the records of a file, or of standard input. Default -, unless there is --size."`

	Record *record.Format `placeholder:"FORMAT" help:"Format of the input: lines (without their line feed), raw (all of it is one message), fixed:N, length32 (u32 little endian before each), pcap or pcapng. Default lines."`
	Loop   bool           `help:"Begin again at the end of the input."`

	NoRecordHeader bool            `help:"Publish the packets of a capture alone, without a record header before each."`
	Map            publish.Mapping `default:"round-robin" placeholder:"RULE" help:"Tag of each message: round-robin (each tag of a finite set in turn) or offset:N (the tag is the u64, little endian, at byte N of the record). Default ${default}."`

	Size   *emulate.Sizes `aliases:"emulate" placeholder:"SIZE|MIN-MAX" help:"Publish messages that are made up, of this size in bytes or of random sizes in this range. subscriber --verify checks them."`
	Stamp  bool           `help:"Put the time into messages of --size, so that subscriber --verify can say how long they took."`
	Status publish.Status `default:"0" placeholder:"N" help:"Status of each message, 0 to 255. Default ${default}."`

	Count    units.Count   `placeholder:"N" help:"End after N messages. Default: at the end of the input; never with --size."`
	Rate     units.Rate    `placeholder:"N" help:"Messages per second, for example 50k. Default: without limit."`
	Wait     int           `default:"1" aliases:"wait-subscribers" placeholder:"N" help:"Publish nothing before N subscribers want all of the tags. Without a subscriber a message goes nowhere; 0 publishes all the same, and says so. Default ${default}."`
	WaitTime time.Duration `default:"30s" placeholder:"TIME" help:"How long to wait for these subscribers before it ends with status 1. 0: until they come. Default ${default}."`
	For      time.Duration `aliases:"duration" placeholder:"TIME" help:"End in order after this time, also while it waits. Default: no limit."`

	Listen          cli.Address     `default:"127.0.0.1:0" placeholder:"ADDR[:PORT]" help:"Address to listen on, as that of publisher. Default ${default}, which no other host can reach."`
	Advertise       []cli.Announced `placeholder:"ADDR[:PORT]" help:"Addresses to announce instead, as those of publisher."`
	Name            string          `placeholder:"TEXT" help:"Name shown to other operators, at most 255 bytes. Default: none."`
	DrainTimeout    time.Duration   `default:"30s" placeholder:"TIME" help:"How long subscribers may take at the end to receive what is left; after a signal at most 5s. Default ${default}."`
	MaxMessageBytes units.Bytes     `default:"1MiB" placeholder:"SIZE" help:"Largest message. Default ${default}."`
	Quiet           bool            `short:"q" help:"Say nothing on standard error but errors and the summary."`
}

// Check reports what is wrong with the flags together.
func (c *Command) Check() error {
	if c.Size != nil && c.Input != "" {
		return fmt.Errorf("--size makes messages up, and %s has some: give one of them", c.Input)
	}
	if c.WaitTime < 0 {
		return fmt.Errorf("--wait-time: got %v, want a positive time, or 0 to wait until they come", c.WaitTime)
	}
	flags, err := c.flags(&tool.Flags{Bus: ".", Backend: "tcp"})
	if err != nil {
		return err
	}
	return flags.Check()
}

// flags returns the command line of the command publisher.
func (c *Command) flags(common *tool.Flags) (*publish.Flags, error) {
	f, err := publish.Defaults()
	if err != nil {
		return nil, err
	}
	f.Bus, f.Backend, f.Security, f.JSON = common.Bus, common.Backend, common.Security, common.JSON
	f.Name, f.Duration, f.Quiet = c.Name, c.For, c.Quiet
	f.Tags, f.Listen, f.Advertise = c.Tags, c.Listen, c.Advertise
	f.Status, f.Rate, f.Count, f.Loop = c.Status, c.Rate, c.Count, c.Loop
	f.WaitTime, f.NoRecordHeader, f.Map = c.WaitTime, c.NoRecordHeader, c.Map
	f.WaitSubscribers, f.DrainTimeout, f.MaxMessageBytes = c.Wait, c.DrainTimeout, c.MaxMessageBytes
	if c.Input != "" {
		f.Input = c.Input
	}
	if c.Record != nil {
		f.Record = c.Record
	}
	if f.Stamp = c.Stamp; c.Size != nil {
		f.Emulate, f.Input, f.Record = c.Size, "", c.Record
	}
	return f, nil
}

// Run publishes.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	flags, err := c.flags(e.Flags)
	if err != nil {
		return err
	}
	hurry := e.Hurry
	if hurry == nil {
		hurry = context.WithoutCancel(ctx)
	}
	return tool.Status(publish.Run(ctx, hurry, name, flags, e.Streams))
}
