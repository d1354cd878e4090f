// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"errors"
	"fmt"
	"math"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/options"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

// Command is the command line of tagbus replay.
type Command struct {
	Files []string `arg:"" name:"file" help:"Files of one or several recordings. The parts of one recording follow each other; several recordings are played together, in the order of their times."`

	Speed            float64       `default:"1" placeholder:"FACTOR" group:"When" help:"Play so many times as fast as it was recorded, for example 10 or 0.5. Default ${default}."`
	AsFastAsPossible bool          `group:"When" help:"Publish without pauses, as fast as subscribers take the messages."`
	MaxGap           time.Duration `placeholder:"TIME" group:"When" help:"Longest pause between two messages: longer ones, as between recordings of two days, are cut to it. Default: none is cut."`
	Loop             Loops         `placeholder:"[N]" group:"When" help:"Begin again at the end, without a pause: with --loop=N play it N times, otherwise until a signal ends it."`

	From      Moment    `placeholder:"TIME" group:"What" help:"Begin with the messages of this time: 2026-11-24T09:30:00Z (RFC 3339), or a time from the beginning of the earliest file such as 90s. Default: the beginning."`
	To        Moment    `placeholder:"TIME" group:"What" help:"End before the messages of this time, given as that of --from. Default: the end."`
	Tags      tags.Set  `placeholder:"SET" group:"What" help:"Publish the messages of these tags only, as they were recorded. Default: of all."`
	Publisher string    `placeholder:"NAME" group:"What" help:"Publish the messages of the publishers with this name or instance only. Default: of all."`
	Map       []Mapping `placeholder:"FROM=TO" group:"What" help:"Publish the messages of tag FROM as tag TO. FROM may be a range FIRST-LAST: then TO is the tag for FIRST, and those behind it follow. Several are separated by commas. The others keep their tags."`
	Strict    bool      `group:"What" help:"Publish nothing of files that are cut off or damaged, or with --no-check stop there. Without this flag what can be read is published, and the status is 1."`
	NoCheck   bool      `group:"What" help:"Begin at once. Without this flag all that is to be published is read beforehand: to say what is damaged, and for the size of the largest message."`

	WaitSubscribers int             `default:"1" aliases:"wait" placeholder:"N" help:"Publish nothing before N subscribers want all of the tags together. Without a subscriber a message goes nowhere; 0 publishes all the same, and says so. Default ${default}."`
	Listen          cli.Address     `default:"127.0.0.1:0" placeholder:"ADDR[:PORT]" help:"Address to listen on, as that of publisher. Default ${default}, which no other host can reach."`
	Advertise       []cli.Announced `placeholder:"ADDR[:PORT]" help:"Addresses to announce instead, as those of publisher."`
	Name            string          `placeholder:"TEXT" help:"Name shown to other operators, at most 255 bytes. Default: none."`
	DrainTimeout    time.Duration   `default:"30s" placeholder:"TIME" help:"How long subscribers may take at the end to receive what is left; after a signal at most 5s. Default ${default}."`
	MaxMessageBytes units.Bytes     `placeholder:"SIZE" help:"Largest message. Default: 1MiB, or what the largest that was recorded has; that is not known with --no-check."`
	Quiet           bool            `short:"q" help:"Say nothing on standard error but errors and the summary."`
}

// The slowest and the fastest replay.
const (
	minSpeed = 1e-6
	maxSpeed = 1e6
)

// Check reports what is wrong with the flags together.
func (c *Command) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if math.IsNaN(c.Speed) || c.Speed < minSpeed || c.Speed > maxSpeed {
		add("--speed: got %v, want %g to %g", c.Speed, minSpeed, maxSpeed)
	}
	if c.AsFastAsPossible && (c.Speed != 1 || c.MaxGap != 0) {
		add("--as-fast-as-possible has no pauses: leave --speed and --max-gap out")
	}
	if c.MaxGap < 0 || c.DrainTimeout < 0 {
		add("--max-gap and --drain-timeout: want 0 or more")
	}
	if c.WaitSubscribers < 0 {
		add("--wait-subscribers: got %d, want 0 or more", c.WaitSubscribers)
	}
	if _, err := newMapper(c.Map); err != nil {
		errs = append(errs, err)
	}
	if c.From.absolute() && c.To.absolute() && !c.From.at.Before(c.To.at) || c.From.relative() && c.To.relative() && c.From.after >= c.To.after {
		add("--from %v is not before --to %v", c.From, c.To)
	}
	if len(errs) == 0 {
		return c.config(tags.Of(0), 0).Validate()
	}
	return errors.Join(errs...)
}

// config returns the configuration of the publisher.
//
//   - set: its tags.
//   - largest: message that is to be published, in bytes.
func (c *Command) config(set tags.Set, largest int) bus.PublisherConfig {
	cfg := bus.PublisherConfig{
		Common:    bus.Common{Name: c.Name},
		Listening: bus.Listening{Listen: c.Listen.AddrPort, Advertise: options.AddrPorts(c.Advertise)},
		Sending:   bus.Sending{MaxMessageBytes: int(c.MaxMessageBytes)},
		Tags:      set,
	}
	if cfg.MaxMessageBytes == 0 && largest > defaultMessageBytes {
		cfg.MaxMessageBytes = largest
	}
	return cfg
}

// defaultMessageBytes is the default of bus.PublisherConfig.MaxMessageBytes.
const defaultMessageBytes = 1 << 20
