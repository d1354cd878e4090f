// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package bench is the command tagbus bench: it measures a bus between two processes or
// two hosts, and in the same run what plain TCP does between them.
//
// The running side publishes, the serving side checks and counts. How long it took is
// measured at the running side alone, until the serving side has said that all is there:
// no clocks are compared. Latency is that of a round trip, of a message that the serving
// side publishes again under another tag.
package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

const name = "tagbus bench"

// Sides of a measurement. The empty one is both, as two processes on this host.
const (
	serveSide = "serve"
	runSide   = "run"
)

// Command is the command line of tagbus bench.
type Command struct {
	Side string `arg:"" optional:"" enum:",serve,run" default:"" help:"serve on one host, and run on the other one. Without it both sides are processes on this host, which need no --bus."`

	Size     emulate.Sizes `default:"1KiB" placeholder:"SIZE|MIN-MAX" help:"Size of messages in bytes, or the range of random ones. Default ${default}."`
	TagCount int           `name:"tags" default:"16" placeholder:"N" help:"Number of tags, each in turn. Default ${default}."`
	Rate     units.Rate    `placeholder:"N" help:"Messages per second, for example 50k. Round trips are then measured under this load, and otherwise without load. Default: as many as go through."`
	Burst    int           `default:"1" placeholder:"N" help:"With --rate: messages that come at once. Default ${default}."`

	Rounds int           `default:"5" placeholder:"N" help:"Rounds, of which the medians count. Default ${default}."`
	Round  time.Duration `default:"700ms" placeholder:"TIME" help:"How long messages are published in a round, and how long round trips are measured. Default ${default}."`

	First  tags.Tag    `default:"0x7461676275730000" placeholder:"TAG" help:"First of the 65,536 tags that are used, the same on both sides. Default ${default}."`
	Listen cli.Address `default:"127.0.0.1:0" placeholder:"ADDR[:PORT]" help:"Address to listen on. With two hosts both sides need one that the other one reaches. Default ${default}, which no other host can reach."`
	Quiet  bool        `short:"q" help:"Say nothing on standard error but errors."`
	Child  bool        `hidden:"" help:"End when standard input does."`
}

const (
	maxTags = 1 << 16 // that a measurement uses

	// What the first tags are for. The others carry data.
	requestTag = 0 // from the running side
	answerTag  = 1
	pingTag    = 2 // from the running side
	pongTag    = 3
	dataTag    = 4
)

// Defaults of bus.PublisherConfig.
const (
	defaultMessageBytes = 1 << 20
	defaultQueueBytes   = 4 << 20
)

// NeedsBus reports whether --bus is missing if it is not given.
func (c *Command) NeedsBus() bool { return c.Side != "" }

// UsesBus implements tool.BusOptional.
func (c *Command) UsesBus() bool { return true }

// Check reports what is wrong with the flags together.
func (c *Command) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.TagCount < 1 || c.TagCount > maxTags-dataTag {
		add("--tags: got %d, want 1 to %d", c.TagCount, maxTags-dataTag)
	}
	if c.Burst < 1 {
		add("--burst: got %d, want 1 or more", c.Burst)
	}
	if c.Burst > 1 && c.Rate == 0 {
		add("--burst needs --rate")
	}
	if c.Rounds < 1 {
		add("--rounds: got %d, want 1 or more", c.Rounds)
	}
	if c.Round <= 0 {
		add("--round: got %v, want a positive time", c.Round)
	}
	if c.First > tags.MaxTag-maxTags+1 {
		add("--first: got %v, want %d tags after it", c.First, maxTags)
	}
	if c.Child && c.Side != serveSide {
		add("--child is for bench serve")
	}
	errs = append(errs, c.publisher().Validate())
	return errors.Join(errs...)
}

// tag returns one of the tags.
func (c *Command) tag(n int) tags.Tag { return c.First + tags.Tag(n) }

// data returns the tags from the first with data to the last of n.
func (c *Command) data(n int) tags.Set {
	set, _ := tags.Range(c.tag(dataTag), c.tag(dataTag+n-1)) // Check has looked
	return set
}

// publisher returns the configuration of the running side's publisher.
func (c *Command) publisher() bus.PublisherConfig {
	cfg := bus.PublisherConfig{
		Common: bus.Common{Name: name + " run"}, Listening: bus.Listening{Listen: c.Listen.AddrPort},
		Tags: tags.Union(tags.Of(c.tag(requestTag), c.tag(pingTag)), c.data(max(c.TagCount, 1))),
	}
	if n := int(c.Size.Max); n > defaultMessageBytes {
		cfg.MaxMessageBytes, cfg.QueueBytes = n, max(n+n/8, defaultQueueBytes)
	}
	return cfg
}

// Run measures, or serves a side that does.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	switch c.Side {
	case serveSide:
		return c.serve(ctx, e)
	case runSide:
		return c.measure(ctx, e)
	default:
		return c.alone(ctx, e)
	}
}
