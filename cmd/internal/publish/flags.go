// SPDX-License-Identifier: Apache-2.0

// Package publish is the command publisher.
package publish

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

// Flags is the command line of publisher.
type Flags struct {
	// WaitTime bounds the wait for subscribers; 0 does not. Only tagbus pub has a flag for it.
	WaitTime time.Duration `kong:"-"`

	cli.Common

	Tags   tags.Set    `required:"" placeholder:"SET" help:"Tags to publish: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas."`
	Listen cli.Address `default:"127.0.0.1:0" placeholder:"ADDR[:PORT]" help:"Address to listen on; port 0 or none lets the system pick; 0.0.0.0 or [::] announces every address of the host. Default ${default}, which no other host can reach."`

	ListenAlso []cli.ListenPlace `placeholder:"TRANSPORT=ADDR[:PORT]" help:"Places to listen at by transports of --backend, which then do not listen at --listen: a network of its own for RDMA, say. It may be given more than once."`

	Advertise []cli.Announced `placeholder:"ADDR[:PORT]" help:"Addresses to announce instead, in the order in which subscribers are to try them: those of the host of a container, or outside of a router that translates. No port is the one that was bound. Default: --listen, or for 0.0.0.0 every address of the host."`

	Input          string         `xor:"source" required:"" placeholder:"FILE|-" group:"What to publish" help:"Publish the records of a file, or of standard input."`
	Record         *record.Format `placeholder:"FORMAT" group:"What to publish" help:"Format of the input: fixed:N (records of N bytes; a shorter last one is published too), lines (without their line feed), length32 (u32 little endian before each), raw (all of it is one message), pcap or pcapng (either is read as what it is)."`
	NoRecordHeader bool           `group:"What to publish" help:"Publish the packets of a capture alone. Without this flag each message has a record header of 24 bytes before the packet, with its link type, time and original length. subscriber takes it off."`
	Emulate        *emulate.Sizes `xor:"source" required:"" placeholder:"SIZE|MIN-MAX" group:"What to publish" help:"Publish messages of this size in bytes, or of random sizes in this range, that subscriber --verify can check. From 16 bytes on they carry a counter and a CRC-32C; smaller ones only the counter's lowest bytes."`
	Stamp          bool           `group:"What to publish" help:"Put the time into emulated messages of at least 24 bytes, so that subscriber --verify can say how long they took. The clocks of both hosts must agree."`
	Status         Status         `default:"0" placeholder:"N" group:"What to publish" help:"Status of each message, 0 to 255, for example the error flags of the firmware. The bus carries it to subscriber --print and gives its bits no meaning. Default ${default}."`
	Map            Mapping        `default:"round-robin" placeholder:"RULE" group:"What to publish" help:"Tag of each message: round-robin (each tag of a finite set in turn) or offset:N (the tag is the u64, little endian, at byte N of the record). Default ${default}."`

	Send bool `group:"How to send" help:"Send to the receivers that own the tags (subscriber --receive) instead of publishing: each message goes to one of them, and waits until it is there. --listen then means nothing."`
	Ack  bool `group:"How to send" help:"With --send: after each message wait for the news that the receiver has handled it. What is not acknowledged is counted, and makes the run fail."`

	Rate            units.Rate  `placeholder:"N" group:"How much" help:"Messages per second, for example 50k. Default: without limit."`
	Count           units.Count `placeholder:"N" group:"How much" help:"Stop after this many messages, for example 2M. Default: at the end of the input; never with --emulate."`
	Loop            bool        `group:"How much" help:"Begin again at the end of the input."`
	WaitSubscribers int         `placeholder:"N" group:"How much" help:"Publish nothing before at least N subscribers have subscribed and together want all of the tags. Default: wait for none."`

	MaxStall time.Duration    `placeholder:"TIME" group:"Tuning" help:"How long a subscriber that blocks may take nothing before it is disconnected. Default: wait for it for ever."`
	Policies []bus.PolicyKind `placeholder:"KIND" group:"Slow subscribers" help:"Kinds of policies that subscribers may choose for when they are too slow: block, drop-newest, drop-oldest, latest, sample, disconnect. Others are refused. With block and disconnect the publisher waits for them, with the others never. Default: all."`

	DrainTimeout    time.Duration `default:"30s" placeholder:"TIME" group:"Tuning" help:"How long subscribers may take at the end to receive what is left; after a signal at most 5s. Default ${default}."`
	PageBytes       units.Bytes   `default:"130900" placeholder:"SIZE" group:"Tuning" help:"Size of a page, in which messages travel together: 256 to 16MiB. A larger message takes several. Default ${default}."`
	QueueBytes      units.Bytes   `placeholder:"SIZE" group:"Tuning" help:"Page memory that one subscriber may hold, for each of its policies, before it slows the publisher down. Default 4MiB, or what the largest message takes."`
	SubscriberBytes units.Bytes   `placeholder:"SIZE" group:"Tuning" help:"Page memory that one subscriber may hold with all its policies together; who asks for more is refused. Default 16 times --queue-bytes."`
	PoolBytes       units.Bytes   `placeholder:"SIZE" group:"Tuning" help:"Memory for all pages. Default 64MiB, or the queue and a page."`
	MaxMessageBytes units.Bytes   `default:"1MiB" placeholder:"SIZE" group:"Tuning" help:"Largest message. Default ${default}."`
	Cache           int           `placeholder:"N" group:"Tuning" help:"Keep the newest N messages of each tag for subscribers that come late (subscriber --replay) or whose connection was lost. Default: none."`
	CacheBytes      units.Bytes   `placeholder:"SIZE" group:"Tuning" help:"Memory for those of all tags together; when it is full the oldest go. Default 64MiB."`
	FlushInterval   time.Duration `placeholder:"TIME" group:"Tuning" help:"How long a page that is not full waits for more messages: less processor time for more latency. Default 0: a message that stands alone is sent at once."`
}

// maxRoundRobin is how many tags the publisher goes through in turn.
const maxRoundRobin = 1 << 20

// Check reports everything that is wrong with the flags together.
func (f *Flags) Check() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := f.Common.Check(); err != nil {
		errs = append(errs, err)
	}
	if f.Tags.IsEmpty() {
		add("--tags: the set is empty")
	}
	if f.Input != "" && f.Record == nil {
		add("--input needs --record: fixed:N, lines, length32, raw, pcap or pcapng")
	}
	if f.Record != nil {
		f.validateRecord(add)
	} else if f.NoRecordHeader {
		add("--no-record-header is for --record pcap and pcapng")
	}
	if f.Emulate != nil {
		if f.Map.byOffset {
			add("--map %v is for --input: emulated messages hold no tag", f.Map)
		}
		if f.Loop {
			add("--loop is for --input: --emulate never ends by itself")
		}
		if f.Emulate.Max > f.MaxMessageBytes {
			add("--emulate: messages of %v are larger than --max-message-bytes %v: raise it", f.Emulate.Max, f.MaxMessageBytes)
		}
	}
	if f.Stamp && (f.Emulate == nil || f.Emulate.Max < emulate.StampedBytes) {
		add("--stamp needs --emulate with messages of %d bytes or more", emulate.StampedBytes)
	}
	f.checkSend(add)
	if f.WaitSubscribers < 0 {
		add("--wait-subscribers: got %d, want 0 or more", f.WaitSubscribers)
	}
	if f.FlushInterval < 0 || f.DrainTimeout < 0 {
		add("--flush-interval and --drain-timeout: want 0 or more")
	}
	if len(errs) == 0 { // else it says the same again
		return f.config().Validate()
	}
	return errors.Join(errs...)
}

// headed reports whether messages have a record header.
func (f *Flags) headed() bool {
	return f.Record != nil && f.Record.IsCapture() && !f.NoRecordHeader
}

func (f *Flags) validateRecord(add func(string, ...any)) {
	switch {
	case f.NoRecordHeader && !f.Record.IsCapture():
		add("--no-record-header is for --record pcap and pcapng")
	case f.headed() && f.MaxMessageBytes <= record.HeaderBytes:
		add("--max-message-bytes: got %v, want more than the %d bytes of a record header, or --no-record-header", f.MaxMessageBytes, record.HeaderBytes)
	case f.Emulate != nil:
		add("--record is for --input")
	case f.Loop && f.Input == "-":
		add("--loop needs a file: standard input cannot be read again")
	case units.Bytes(f.Record.Bytes) > f.MaxMessageBytes:
		add("--record: records of %d bytes are larger than --max-message-bytes %v: raise it", f.Record.Bytes, f.MaxMessageBytes)
	}
}

// config returns the configuration of the bus.
func (f *Flags) config() bus.PublisherConfig {
	interval, timeout := f.Heartbeats()
	return bus.PublisherConfig{
		Common:    bus.Common{Name: f.Name, HeartbeatInterval: interval, HeartbeatTimeout: timeout},
		Listening: cli.Listening(f.Listen, f.Advertise, f.ListenAlso),
		Sending: bus.Sending{
			PageBytes: int(f.PageBytes), QueueBytes: int(f.QueueBytes), PoolBytes: int(f.PoolBytes),
			MaxMessageBytes: int(f.MaxMessageBytes), FlushInterval: f.FlushInterval, MaxStall: f.MaxStall,
			Policies: f.Policies, CacheMessages: f.Cache, CacheBytes: int(f.CacheBytes),
		},
		Tags:            f.Tags,
		SubscriberBytes: int(f.SubscriberBytes),
	}
}
