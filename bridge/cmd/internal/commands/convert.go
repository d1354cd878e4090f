// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"tagbus/bridge/convert"
	"tagbus/bridge/durable"
	"tagbus/cmd/programs"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/recording"
	"tagbus/tags"
)

// Convert is the command line of tagbus-bridge convert.
type Convert struct {
	Log

	Source string          `arg:"" optional:"" placeholder:"URL" help:"The log, as tagbus rec convert names it: nats://HOST,HOST/STREAM in place of --nats and --stream, or kafka://HOST,HOST/TOPIC."`
	Out    string          `required:"" short:"o" placeholder:"FILE" help:"The new recording, which must not exist. It is there only if all of it is."`
	Codec  recording.Codec `default:"none" placeholder:"CODEC" help:"How blocks are compressed: none, s2 or zstd. Default ${default}."`
	Tags   tags.Set        `placeholder:"SET" help:"Only the messages of these tags. Default: of all."`
	From   Moment          `placeholder:"WHEN" help:"Begin with the record that has this number in the log, or was stored at this time: 1200, or 2026-11-24T09:30:00Z (RFC 3339). Default: the beginning."`
	Until  Moment          `placeholder:"WHEN" help:"End in front of the record that has this number, or was stored at this time. Default: the present end."`

	Window    programs.Bytes `default:"64MiB" placeholder:"SIZE" help:"Memory in which records are ordered by the times of their messages. Default ${default}."`
	MaxChains int            `placeholder:"N" help:"How many publishers and tags the log may have, for each of which 400 bytes of memory are taken. Default 1048576."`
}

// NeedsBus implements programs.ServiceCommand without a bus.
func (*Convert) NeedsBus() bool { return false }

// AfterApply is a hook of kong: the source is in the place of flags.
func (c *Convert) AfterApply() error {
	if c.Source == "" {
		return nil
	}
	u, err := url.Parse(c.Source)
	if err != nil {
		return fmt.Errorf("%s is no URL of a log: want nats://HOST,HOST/STREAM or kafka://HOST,HOST/TOPIC", sanitize.URL(c.Source))
	}
	name := strings.Trim(u.Path, "/")
	switch {
	case c.URL != "" || c.Stream != "" || c.isKafka():
		return errors.New("the log is named twice: leave out the URL, or the flags")
	case u.Scheme != "nats" && u.Scheme != "tls" && u.Scheme != "kafka":
		return fmt.Errorf("%s is no log that this program reads: want nats://HOST,HOST/STREAM or kafka://HOST,HOST/TOPIC", sanitize.URL(c.Source))
	case u.Host == "" || name == "" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%s: want servers and a name: nats://HOST,HOST/STREAM or kafka://HOST,HOST/TOPIC", sanitize.URL(c.Source))
	case u.Scheme == "kafka" && u.User != nil:
		return errors.New("the URL has a user in it: want --sasl-user and --sasl-password-file")
	case u.Scheme == "kafka":
		c.Brokers, c.Topic = u.Host, name
	default:
		c.URL, c.Stream = servers(u), name
	}
	return nil
}

// servers returns the URLs of the servers that the URL of a log in NATS names.
func servers(u *url.URL) string {
	var all []string
	for host := range strings.SplitSeq(u.Host, ",") {
		all = append(all, (&url.URL{Scheme: u.Scheme, User: u.User, Host: host}).String())
	}
	return strings.Join(all, ",")
}

// Check implements programs.ServiceCommand.
func (c *Convert) Check() error {
	return inFlags(c.config().Validate(), c.check())
}

func (c *Convert) config() convert.Config {
	return convert.Config{
		Query: durable.Query{Tags: c.Tags, Start: c.From.Start, End: c.Until.end()}, WindowBytes: int(c.Window), MaxChains: c.MaxChains,
	}
}

// ConvertSummary is what a run has written.
type ConvertSummary struct {
	Place

	Out      string `json:"out"`
	Messages uint64 `json:"messages"`
	Events   uint64 `json:"events"`
	Bytes    int64  `json:"bytes"` // of the file
	Chains   int    `json:"chains"`
	Lost     uint64 `json:"lost"`
	Missing  uint64 `json:"missing"`
	Begun    int    `json:"begun_before"`
	Unknown  int    `json:"unknown_ends"`
	First    uint64 `json:"first_record"`
	Last     uint64 `json:"last_record"`
}

// String returns the summary as a line for people.
func (s ConvertSummary) String() string {
	line := fmt.Sprintf("%d messages and %d events, %d bytes, in %s, of %d publishers and tags in %v, records %d to %d; %d lost before the log, %d missing in it, %d ends unknown",
		s.Messages, s.Events, s.Bytes, sanitize.Text(s.Out), s.Chains, s.Place, s.First, s.Last, s.Lost, s.Missing, s.Unknown)
	if s.Begun > 0 {
		line += fmt.Sprintf("; %d begin in the middle: the span begins later than they, or the retention of the log has dropped their begin", s.Begun)
	}
	return line
}

// Run implements programs.ServiceCommand.
func (c *Convert) Run(ctx context.Context, e *programs.ServiceEnv) (fmt.Stringer, error) {
	file, err := stuck.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("--out: %w: give another name, or remove it first", err)
	case err != nil:
		return nil, fmt.Errorf("--out: %w", err)
	}
	report, bytes, err := c.write(ctx, e, file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, stuck.Remove(c.Out))
	}
	sum := ConvertSummary{
		Place: c.place(), Out: c.Out, Messages: report.Messages, Events: report.Events, Bytes: bytes, Chains: report.Chains, Lost: report.Lost,
		Missing: report.Hole, Begun: report.Begun, Unknown: report.Unknown, First: uint64(report.First), Last: uint64(report.Last),
	}
	if report.Hole > 0 {
		err = fmt.Errorf("%d messages are in no record: the retention of the log has dropped them, and the recording says where", report.Hole)
	}
	return sum, err
}

// write writes the recording.
func (c *Convert) write(ctx context.Context, e *programs.ServiceEnv, file *stuck.File) (report convert.Report, bytes int64, err error) {
	log, err := c.open(ctx, e.Name, c.Tags, e.Say)
	if err != nil {
		return report, 0, err
	}
	defer func() { _ = log.Close() }() // it was only read
	e.Ready()
	host, _ := os.Hostname() // only for people
	h := recording.Header{Host: host, Name: named(e.Name), Version: "tagbus-bridge convert", Tags: c.Tags}
	w, err := recording.NewWriter(file, h, recording.Config{Codec: c.Codec})
	if err != nil {
		return report, 0, err
	}
	if report, err = convert.Run(ctx, log, w, c.config()); err != nil {
		return report, 0, err
	}
	err = w.Close()
	info, failed := file.Stat()
	if failed == nil {
		bytes = info.Size()
	}
	return report, bytes, errors.Join(err, failed)
}
