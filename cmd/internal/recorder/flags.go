// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
	"tagbus/tags"
)

// Command is the command line of tagbus record.
type Command struct {
	Tags tags.Set `arg:"" help:"Tags to record, from every publisher that has or will have them: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas, or * for all."`
	File string   `arg:"" help:"File to write. The parts behind the first one have their number before the extension: run.tbr, run.0001.tbr. Or a FIFO."`

	Force bool            `group:"What to write" help:"Replace the file and its parts. Default: refuse to, before anything else."`
	Name  string          `placeholder:"NAME" group:"What to write" help:"Name that publishers and the recording show. Default tagbus record."`
	Codec recording.Codec `default:"none" placeholder:"CODEC" group:"What to write" help:"How blocks are compressed: none, s2 (fast) or zstd (small). Default ${default}."`

	Replay int `placeholder:"N" group:"What to write" help:"Begin with the newest N messages of each tag that the publishers have kept (publisher --cache). Default: only with what is new."`

	RotateBytes units.Bytes   `placeholder:"SIZE" group:"Files" help:"Begin the next part when one has this size. Default: never."`
	RotateEvery time.Duration `placeholder:"TIME" group:"Files" help:"Begin the next part when one is so old and something comes, for example 1h. Default: never."`
	KeepFree    units.Bytes   `default:"64MiB" placeholder:"SIZE" group:"Files" help:"Stop in order, with status 1, before the disk has less than this free: more than --queue-bytes, which is still written then. 0: go on until it is full. Default ${default}."`
	Fsync       Fsync         `default:"rotate" placeholder:"WHEN" group:"Files" help:"What has to survive a failure of power, and is written to the disk itself: each block, at most one block in a TIME, each part when it is complete (rotate), only the last part (end), or none that the system does not write by itself (never): block, TIME, rotate, end or never. Default ${default}."`
	FlushEvery  time.Duration `default:"1s" placeholder:"TIME" group:"Files" help:"Longest time that a message stays in memory only, while the disk is fast enough: what a kill of this command loses. Default ${default}."`

	Count        units.Count   `placeholder:"N" group:"When to stop" help:"Stop after this many messages, for example 2M. Status 1 if there were fewer. Default: no limit."`
	Duration     time.Duration `placeholder:"TIME" group:"When to stop" help:"Stop after this time. Default: no limit."`
	UntilGoodbye bool          `group:"When to stop" help:"Stop when there was a publisher and the last one has ended."`

	Policy     bus.Policy  `default:"block" placeholder:"POLICY" group:"When the disk is too slow" help:"What publishers do when there is no room for a message: block (they wait), drop-newest, drop-oldest, latest (only the newest of each tag), sample:N (every Nth of each tag), or disconnect:TIME (they wait, and cut us off when we take nothing for so long). What is lost is in the recording. Default ${default}."`
	Backlog    units.Bytes `placeholder:"SIZE" group:"When the disk is too slow" help:"Page memory that we may hold at each publisher. Default and limit: --queue-bytes of the publisher."`
	QueueBytes units.Bytes `default:"8MiB" placeholder:"SIZE" group:"When the disk is too slow" help:"Memory for what waits for the disk, in blocks of at most 1 MiB, before reading stops. Default ${default}."`

	Quiet bool `short:"q" help:"Say nothing on standard error but errors, warnings and the last line."`
}

const (
	// mostBlockBytes is the size of a block, unless the queue is small.
	mostBlockBytes  = 1 << 20
	leastBlockBytes = 64 << 10

	// leastBlocks is how many blocks there are at least: one is filled, one written.
	leastBlocks = 2
)

// Check reports what is wrong with the flags together.
func (c *Command) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Tags.IsEmpty() {
		add("TAGS: the set is empty")
	}
	if c.File == "" || c.File == "-" {
		add("FILE: got %q, want the name of a file or of a FIFO", c.File)
	}
	for _, f := range []struct {
		name string
		got  time.Duration
	}{{"rotate-every", c.RotateEvery}, {"duration", c.Duration}, {"flush-every", c.FlushEvery}} {
		if f.got < 0 {
			add("--%s: got %v, want a positive time", f.name, f.got)
		}
	}
	if c.FlushEvery == 0 {
		add("--flush-every: got 0, want a positive time: each flush makes a block")
	}
	if c.QueueBytes < leastBlocks*leastBlockBytes {
		add("--queue-bytes: got %v, want at least %v", c.QueueBytes, units.Bytes(leastBlocks*leastBlockBytes))
	}
	errs = append(errs, c.subscription().Validate())
	return errors.Join(errs...)
}

// subscription returns how publishers are to treat this command.
func (c *Command) subscription() bus.SubscriptionConfig {
	return bus.SubscriptionConfig{Policy: c.Policy, BacklogBytes: int(c.Backlog), Replay: c.Replay}
}

// blocks returns how many blocks there are, and how large they are.
func (c *Command) blocks() (n, bytes int) {
	bytes = min(mostBlockBytes, int(c.QueueBytes)/leastBlocks)
	return int(c.QueueBytes) / bytes, bytes
}

// rotates reports whether there may be several parts.
func (c *Command) rotates() bool { return c.RotateBytes > 0 || c.RotateEvery > 0 }

// Fsync is when a recording is written to the disk itself.
type Fsync struct {
	block, part, last bool          // after each block, at the end of each part, at that of the last
	every             time.Duration // at most one block in this time; 0: not so
}

// UnmarshalText reads never, block, rotate, end, or a time.
func (f *Fsync) UnmarshalText(text []byte) error {
	switch string(text) {
	case "never":
		*f = Fsync{}
	case "end":
		*f = Fsync{last: true}
	case "rotate":
		*f = Fsync{part: true, last: true}
	case "block":
		*f = Fsync{block: true, part: true, last: true}
	default:
		every, err := time.ParseDuration(string(text))
		if err != nil || every <= 0 {
			return fmt.Errorf("got %q, want never, block, rotate, end, or a time such as 1s", text)
		}
		*f = Fsync{part: true, last: true, every: every}
	}
	return nil
}
