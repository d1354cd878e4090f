// SPDX-License-Identifier: Apache-2.0

// Package subscribe is the command subscriber.
package subscribe

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/printer"
	"tagbus/cmd/internal/record"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

// Flags is the command line of subscriber.
type Flags struct {
	cli.Common

	Tags tags.Set `required:"" placeholder:"SET" help:"Tags to receive, from every publisher that has or will have them: tags, ranges FIRST-LAST, value&mask and slash forms with *, separated by commas, or * for all."`

	Receive bool        `group:"How to receive" help:"Own the tags and receive what is sent to them (publisher --send), instead of subscribing to what is published."`
	Listen  cli.Address `default:"127.0.0.1:0" placeholder:"ADDR[:PORT]" group:"How to receive" help:"With --receive: address to listen on; port 0 or none lets the system pick; 0.0.0.0 or [::] announces every address of the host. Default ${default}, which no other host can reach."`

	ListenAlso []cli.ListenPlace `placeholder:"TRANSPORT=ADDR[:PORT]" group:"How to receive" help:"With --receive: places to listen at by transports of --backend, which then do not listen at --listen: a network of its own for RDMA, say. It may be given more than once."`

	Advertise []cli.Announced `placeholder:"ADDR[:PORT]" group:"How to receive" help:"With --receive: addresses to announce instead, in the order in which senders are to try them: those of the host of a container, or outside of a router that translates. No port is the one that was bound. Default: --listen, or for 0.0.0.0 every address of the host."`

	Exclusive bool `group:"How to receive" help:"With --receive: end with status 1 if another receiver has one of the tags. Default: wait until it has ended, and say so each minute."`

	Output string         `xor:"output" placeholder:"FILE|-" group:"What to do with messages" help:"Write the messages in the order of arrival to a file, which is replaced, or to standard output (the summary of --json then goes to standard error). A slow output slows the publishers down. Default: only count."`
	Record *record.Format `placeholder:"FORMAT" group:"What to do with messages" help:"Format of the output: raw (only their bytes), fixed:N (as raw, and says when one is not of N bytes), lines, length32 (u32 little endian before each), pcap or pcapng (packets that publisher has read from a capture keep link type, time and original length). Default raw."`

	LinkType       *record.LinkType `placeholder:"N" group:"What to do with messages" help:"With --record pcap or pcapng: link type of messages that no capture knows; they have the time of writing. Default 1, Ethernet."`
	NoRecordHeader bool             `group:"What to do with messages" help:"Take messages as they are. Without this flag the record header, which publisher puts before the packets of a capture, is taken off."`

	Print  printer.Kind `xor:"output" placeholder:"KIND" group:"What to do with messages" help:"Print each message in a line on standard output, with its tag, counter (its number in its tag and publisher, lost ones included), status, time of receipt and size: hex, text, json, or none to only count. Otherwise as --output -."`
	Verify bool         `group:"What to do with messages" help:"Check that messages are those of publisher --emulate: counter, size and CRC-32C."`

	Replay int `placeholder:"N" group:"What to do with messages" help:"Begin with the newest N messages of each tag that the publishers have kept (publisher --cache). Default: only with what is new."`

	Count        units.Count   `placeholder:"N" group:"When to stop" help:"Stop after this many messages, for example 2M; later ones are not written. Default: no limit."`
	Timeout      time.Duration `placeholder:"TIME" group:"When to stop" help:"Fail when no message has arrived for this time. Default: wait for ever."`
	UntilGoodbye bool          `group:"When to stop" help:"Stop when there was a publisher and the last one has ended; fail if --count is not reached by then."`

	Policy  bus.Policy  `default:"block" placeholder:"POLICY" group:"When we are too slow" help:"What publishers do when there is no room for a message: block (they wait), drop-newest, drop-oldest, latest (only the newest of each tag), sample:N (every Nth of each tag), or disconnect:TIME (they wait, and cut us off when we take nothing for so long). What is lost is counted. Default ${default}."`
	Backlog units.Bytes `placeholder:"SIZE" group:"When we are too slow" help:"Page memory that we may hold at each publisher. Default and limit: --queue-bytes of the publisher."`

	PerTag bool          `group:"What to say" help:"Name at the end every tag that lost messages, and with --json what was published and received of every tag."`
	Report time.Duration `placeholder:"TIME" group:"What to say" help:"Say each TIME what came in it, and with --verify how long messages of publisher --stamp took."`

	MaxMessageBytes units.Bytes `placeholder:"SIZE" group:"Tuning" help:"Largest message or page that is accepted; a publisher that announces larger ones is refused. Default 64MiB; with --receive over rdma 2MiB, as each sender takes 20 buffers of that size."`
	QueueBytes      units.Bytes `placeholder:"SIZE" group:"Tuning" help:"Memory for messages that wait for the output, before reading stops. Default 8MiB."`
}

// Check reports everything that is wrong with the flags together.
func (f *Flags) Check() error {
	var errs []error
	if err := f.Common.Check(); err != nil {
		errs = append(errs, err)
	}
	if f.Tags.IsEmpty() {
		errs = append(errs, errors.New("--tags: the set is empty"))
	}
	errs = append(errs, f.checkOutput()...)
	if (len(f.Advertise) > 0 || len(f.ListenAlso) > 0) && !f.Receive {
		errs = append(errs, errors.New("--advertise and --listen-also need --receive"))
	}
	if f.Exclusive && !f.Receive {
		errs = append(errs, errors.New("--exclusive needs --receive: any number of subscribers may have a tag"))
	}
	if f.Timeout < 0 {
		errs = append(errs, fmt.Errorf("--timeout: got %v, want a positive time", f.Timeout))
	}
	if f.Report < 0 {
		errs = append(errs, fmt.Errorf("--report: got %v, want a positive time", f.Report))
	}
	if err := errors.Join(f.config().Validate(), f.subscription().Validate()); err != nil {
		errs = append(errs, err)
	} else if f.Receive && len(errs) == 0 { // else it says the same again
		errs = append(errs, f.receiverConfig().Validate())
	}
	return errors.Join(errs...)
}

// checkOutput reports what is wrong with the flags about the output.
func (f *Flags) checkOutput() (errs []error) {
	if f.Record != nil && f.Output == "" {
		errs = append(errs, errors.New("--record needs --output"))
	}
	if f.LinkType != nil && !f.format().IsCapture() {
		errs = append(errs, errors.New("--link-type is for --record pcap and pcapng"))
	}
	if f.NoRecordHeader && f.outputName() == "" {
		errs = append(errs, errors.New("--no-record-header needs --output or --print"))
	}
	return errs
}

// outputName returns the file that messages are written to: "-" for standard output,
// "" for none.
func (f *Flags) outputName() string {
	if f.Print.Prints() {
		return "-"
	}
	return f.Output
}

// linkType returns that of messages that no capture knows.
func (f *Flags) linkType() record.LinkType {
	if f.LinkType == nil {
		return record.Ethernet
	}
	return *f.LinkType
}

// format returns the format of the output.
func (f *Flags) format() record.Format {
	if f.Record == nil {
		return record.Format{Kind: record.Raw}
	}
	return *f.Record
}

// subscription returns how publishers are to treat us.
func (f *Flags) subscription() bus.SubscriptionConfig {
	return bus.SubscriptionConfig{Policy: f.Policy, BacklogBytes: int(f.Backlog), Replay: f.Replay}
}

// config returns the configuration of the bus.
func (f *Flags) config() bus.SubscriberConfig {
	interval, timeout := f.Heartbeats()
	return bus.SubscriberConfig{
		Common:    bus.Common{Name: f.Name, HeartbeatInterval: interval, HeartbeatTimeout: timeout},
		Receiving: bus.Receiving{MaxMessageBytes: int(f.MaxMessageBytes), QueueBytes: int(f.QueueBytes)},
	}
}

// receiverConfig returns the configuration of the bus for --receive.
func (f *Flags) receiverConfig() bus.ReceiverConfig {
	c := f.config()
	return bus.ReceiverConfig{
		Common: c.Common, Receiving: c.Receiving,
		Listening:    cli.Listening(f.Listen, f.Advertise, f.ListenAlso),
		Tags:         f.Tags,
		Subscription: f.subscription(),
	}
}
