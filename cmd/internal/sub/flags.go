// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sub

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

// Command is the command line of tagbus sub.
type Command struct {
	Tags tags.Set `arg:"" help:"Tags to look at: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas, or * for all."`

	Format    Format `default:"text" placeholder:"FORMAT" help:"How to print messages: hex, text or json (a line each, safe to show), or raw (only their bytes, not on a terminal). Default ${default}, with --json json."`
	Timestamp bool   `help:"Print when each message arrived."`
	Delta     bool   `help:"Print the time in seconds since the message before of the same tag."`
	TagsOnly  bool   `help:"Print only the tags of messages, with --timestamp and --delta."`

	Status Statuses `placeholder:"LIST" help:"Print only messages of these statuses: numbers and ranges, for example 1-255 for all but 0. Default: all."`
	Replay int      `placeholder:"N" help:"Begin with the newest N messages of each tag that the publishers have kept (publisher --cache). Default: only with what is new."`

	Count units.Count   `placeholder:"N" help:"End after N messages were printed. Status 1 if there were fewer. Default: no limit."`
	For   time.Duration `placeholder:"TIME" help:"End after this time, for example 10s. Default: no limit."`

	Policy *bus.Policy `placeholder:"POLICY" help:"What publishers do when this command is too slow: latest (only the newest message of each tag), drop-newest, drop-oldest, sample:N, block or disconnect:TIME. With block and disconnect they wait for this command, and so do all their subscribers. Default latest, or drop-oldest with --replay of more than 1, which never harm."`

	Out      string      `placeholder:"DIR" help:"Write the data of each message into a file of its own, NUMBER-TAG-COUNTER, in this folder, and print the names. The folder is made if it is missing."`
	OutLimit units.Bytes `default:"1GiB" placeholder:"SIZE" help:"Most that --out may write: then the command ends with status 1. A file counts as 4 KiB or more. Default ${default}."`

	Payloads       string `placeholder:"FILE" help:"Description of payloads in JSON, as of tagbus rec convert: the objects of --format json have their fields, too. Default: none."`
	NoRecordHeader bool   `help:"Take messages as they are. Without this flag the record header, which publisher puts before the packets of a capture, is taken off."`
	Quiet          bool   `short:"q" help:"Say nothing on standard error but errors and the last line."`

	json bool // --json
}

// Check reports what is wrong with the flags together.
func (c *Command) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Tags.IsEmpty() {
		add("TAGS: the set is empty")
	}
	if c.For < 0 {
		add("--for: got %v, want a positive time", c.For)
	}
	if c.Format == Raw && (c.Timestamp || c.Delta || c.TagsOnly) {
		add("--format raw prints only the bytes of messages: leave --timestamp, --delta and --tags-only out")
	}
	if c.Format == Raw && c.Out != "" {
		add("--out writes the bytes of messages into files: leave --format raw out")
	}
	if c.Out != "" && c.TagsOnly {
		add("--out prints names of files: leave --tags-only out")
	}
	errs = append(errs, c.subscription().Validate())
	return errors.Join(errs...)
}

// format returns how messages are printed.
func (c *Command) format() Format {
	if c.json {
		return Format(printer.JSON)
	}
	return c.Format
}

// subscription returns how publishers are to treat this command.
func (c *Command) subscription() bus.SubscriptionConfig {
	cfg := bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}, Replay: c.Replay}
	switch {
	case c.Policy != nil:
		cfg.Policy = *c.Policy
	case c.Replay > 1: // of which the policy latest has only one
		cfg.Policy.Kind = bus.DropOldest
	}
	return cfg
}

// Format is how messages are printed: one of printer's kinds, or Raw.
type Format printer.Kind

// Raw prints the bytes of messages alone.
const Raw Format = -1

// UnmarshalText reads hex, text, json or raw.
func (f *Format) UnmarshalText(text []byte) error {
	var kind printer.Kind
	switch err := kind.UnmarshalText(text); {
	case string(text) == "raw":
		*f = Raw
	case err != nil || !kind.Prints():
		return fmt.Errorf("got %q, want hex, text, json or raw", text)
	default:
		*f = Format(kind)
	}
	return nil
}

// Statuses is a set of statuses. The zero value has all.
type Statuses struct {
	some bool
	bits [4]uint64
}

// UnmarshalText reads numbers and ranges FIRST-LAST, separated by commas.
func (s *Statuses) UnmarshalText(text []byte) error {
	all := Statuses{some: true}
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 0, 8)
		to, err2 := strconv.ParseUint(last, 0, 8)
		if err != nil || err2 != nil || from > to {
			return fmt.Errorf("got %q, want statuses from 0 to 255 and ranges of them, for example 1-255 or 0,0x80", part)
		}
		for n := from; n <= to; n++ {
			all.bits[n/64] |= 1 << (n % 64)
		}
	}
	*s = all
	return nil
}

func (s *Statuses) has(n bus.Status) bool { return !s.some || s.bits[n/64]&(1<<(n%64)) != 0 }
