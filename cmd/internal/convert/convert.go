// SPDX-License-Identifier: Apache-2.0

// Package convert is the command tagbus rec convert, which writes a recording in the formats of
// other programs, and makes one of a capture.
//
// Of a recording it makes an MCAP file, a capture in pcapng, a file of records of the
// format length32, or a table in CSV. Of captures in pcap or pcapng it makes a recording. Of a
// durable log tagbus-bridge makes one, to which it hands over.
// One record at a time is in memory. Beside it an MCAP file keeps its index there: about 40
// bytes for each channel in each chunk.
package convert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tagbus/cmd/internal/rec"
	"tagbus/cmd/internal/tool"
	"tagbus/recording"
	"tagbus/tags"
)

// Command is the command line of convert.
type Command struct {
	tool.NoBus
	Files    []string  `arg:"" name:"file" help:"Files of recordings, which are read together in the order of time; or captures in pcap or pcapng, which become a recording; or one durable log, as nats://HOST,HOST/STREAM, which becomes a recording, too (tagbus-bridge convert)."`
	To       string    `placeholder:"FORMAT" help:"Format of the new file: mcap, pcapng, length32 or csv. Captures and logs become a recording, and need no --to."`
	Out      string    `required:"" short:"o" placeholder:"FILE|-" help:"The new file, which must not exist; - is standard output. It is there only if all of it is."`
	Codec    string    `default:"none" placeholder:"CODEC" help:"How the new file is compressed: none, lz4 or zstd with --to mcap; none, s2 or zstd if it is a recording. Default ${default}."`
	Data     Data      `default:"hex" placeholder:"FORMAT" help:"Data of messages in CSV: hex, or text (the bytes as they are). Default ${default}."`
	Payloads string    `placeholder:"FILE" help:"Description of payloads in JSON: their fields, which programs that plot MCAP files read (tagbus(1), docs/reference.md). Only with --to mcap. Default: none."`
	Mixed    bool      `help:"Write messages of several tags with --to length32, although the file does not say which is of which."`
	Tag      *tags.Tag `placeholder:"TAG" help:"Tag of all packets of captures. Each message begins with the record header, as those of publisher do. Without this flag only packets that convert has written are taken."`

	Tags      tags.Set `placeholder:"TAGS" help:"Only these tags: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas. Default: all."`
	From      rec.When `placeholder:"TIME" help:"Only from this time on: +90s (after the beginning of the recording), 15:04:05 (of its first day), 2026-11-23 15:04:05, or RFC 3339. Default: the beginning."`
	Until     rec.When `placeholder:"TIME" help:"Only before this time, in the same forms. Default: the end."`
	Publisher string   `placeholder:"NAME" help:"Only what comes from publishers of this name or instance. Default: all."`

	format format
}

// format is what the new file is.
type format string

// The formats of --to.
const (
	formatNone     format = "" // of captures: a recording
	formatMCAP     format = "mcap"
	formatPcapng   format = "pcapng"
	formatLength32 format = "length32"
	formatCSV      format = "csv"
)

// none is the codec that all formats have.
const none = "none"

// codecs are those of formats that have any beside none.
var codecs = map[format][]string{formatMCAP: {"lz4", "zstd"}, formatNone: {"s2", "zstd"}}

// Check reports what is wrong with the flags.
func (c *Command) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c.format = format(c.To)
	switch c.format {
	case formatNone, formatMCAP, formatPcapng, formatLength32, formatCSV:
	default:
		add("--to: got %q, want mcap, pcapng, length32 or csv; --until is the end of a span of time", c.To)
	}
	if c.format != formatCSV && c.Data != Hex {
		add("--data is for --to csv")
	}
	if c.format != formatMCAP && c.Payloads != "" {
		add("--payloads is for --to mcap")
	}
	if c.format != formatLength32 && c.Mixed {
		add("--mixed is for --to length32")
	}
	if c.format != formatNone && c.Tag != nil {
		add("--tag is for captures, which become a recording: leave --to out")
	}
	if names := codecs[c.format]; c.Codec != none && !slices.Contains(names, c.Codec) {
		add("--codec: got %q, want %s", c.Codec, strings.Join(append([]string{none}, names...), " or "))
	}
	return errors.Join(errs...)
}

// compression returns that of an MCAP file.
func (c *Command) compression() mcap.CompressionFormat {
	if c.Codec == none {
		return mcap.CompressionNone
	}
	return mcap.CompressionFormat(c.Codec)
}

// query returns what is asked for of records that begin at a time.
//
//   - Errors: --until is not after --from.
func (c *Command) query(begin time.Time) (recording.Query, error) {
	q := recording.Query{Tags: c.Tags, From: c.From.In(begin), To: c.Until.In(begin), Publisher: c.Publisher}
	if !q.From.IsZero() && !q.To.IsZero() && !q.To.After(q.From) {
		return q, fmt.Errorf("--until: got %v, want a time after --from, %v", q.To, q.From)
	}
	return q, nil
}
