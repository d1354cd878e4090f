// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"tagbus/access"
	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/cmd/internal/options"
	"tagbus/cmd/internal/units"
	"tagbus/internal/stuck"
	"tagbus/node"
	"tagbus/tags"
)

// read reads options into flags.
//
//   - Errors: *Error, which names the function and the option.
func read(function, given string, flags any) error {
	if err := CheckText(function+": options", given); err != nil {
		return err
	}
	words, err := Words(given)
	if err == nil {
		err = options.Read(flags, words)
	}
	if err != nil {
		return invalid("%s: options: %s", function, TextOf(err))
	}
	return nil
}

// parseTags reads a set of tags.
func parseTags(function, text string) (tags.Set, error) {
	if err := CheckText(function+": tags", text); err != nil {
		return tags.Set{}, err
	}
	set, err := tags.ParseSet(text)
	if err != nil {
		return tags.Set{}, invalid("%s: tags: %s", function, TextOf(err))
	}
	return set, nil
}

// busOptions are those of tagbus_open.
type busOptions struct {
	Backend    string
	SHMFolder  string `name:"shm-folder"`
	Loops      int    `default:"1"`
	Expiry     time.Duration
	MaxEntries int
	options.Security
	LogLevel options.LogLevel `default:"warn"`
}

// config returns the configuration of the node.
func (o *busOptions) config(at string, a *access.Access, log *slog.Logger) node.Config {
	cfg := node.Config{
		Bus: at, Backend: o.Transport(o.Backend), Access: a, Loops: o.Loops, Expiry: o.Expiry,
		Logger: log,
	}
	cfg.Folder.MaxFiles, cfg.SHM.Folder = o.MaxEntries, o.SHMFolder
	return cfg
}

// logger returns what logs to standard error, also which files are waited for.
func (o *busOptions) logger() *slog.Logger {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.Level(o.LogLevel)}))
	stuck.Say(func(n stuck.Note) { log.Warn(n.String()) })
	return log
}

// check says what node.Open does not.
func (o *busOptions) check() error {
	if err := o.Check(o.Backend); err != nil {
		return err
	}
	if o.Loops < 1 {
		return fmt.Errorf("--loops: got %d, want 1 or more", o.Loops)
	}
	if o.Expiry < 0 {
		return fmt.Errorf("--expiry: got %v, want a positive time", o.Expiry)
	}
	return options.CheckEntries(o.MaxEntries)
}

// open reads the files of certificates and policy; nil: there are none. Signals do not have them
// read again: they belong to the program. What is wrong with them later is logged.
//
//   - Errors: also *stuck.LateError: nothing else could end the call of a program in C.
func (o *busOptions) open(log *slog.Logger) (*access.Access, error) {
	if o.Cert == "" && o.ACL == "" {
		return nil, nil
	}
	o.Name()
	c := o.Config()
	c.Renewed = func(what string) { log.Info(what) }
	c.Report = func(err error) {
		if err != nil {
			log.Warn(TextOf(err))
		}
	}
	return stuck.Within(2*stuck.Patience, func() (*access.Access, error) { return access.Open(c) }, (*access.Access).Close)
}

// commonOptions are those of all that is opened on a bus.
type commonOptions struct {
	Name             string
	Heartbeat        *time.Duration
	HeartbeatTimeout *time.Duration
	OnLoop           bool
}

func (o *commonOptions) common() bus.Common {
	off := func(d *time.Duration) time.Duration {
		switch {
		case d == nil:
			return 0
		case *d == 0:
			return bus.HeartbeatsOff
		}
		return *d
	}
	return bus.Common{Name: o.Name, HeartbeatInterval: off(o.Heartbeat), HeartbeatTimeout: off(o.HeartbeatTimeout)}
}

// listenOptions are those of what is reached by others.
type listenOptions struct {
	Listen    options.Address `default:"127.0.0.1:0"`
	Advertise []options.Announced
}

func (o *listenOptions) listening() bus.Listening {
	return bus.Listening{Listen: o.Listen.AddrPort, Advertise: options.AddrPorts(o.Advertise)}
}

// sendOptions are those of publishers and senders.
type sendOptions struct {
	commonOptions
	QueueBytes      units.Bytes
	PoolBytes       units.Bytes
	PageBytes       units.Bytes
	MaxMessageBytes units.Bytes
	Cache           int
	CacheBytes      units.Bytes
	FlushInterval   time.Duration
	MaxStall        time.Duration
	Policies        []bus.PolicyKind
}

func (o *sendOptions) sending() bus.Sending {
	return bus.Sending{
		PageBytes: int(o.PageBytes), QueueBytes: int(o.QueueBytes), PoolBytes: int(o.PoolBytes),
		MaxMessageBytes: int(o.MaxMessageBytes), FlushInterval: o.FlushInterval, MaxStall: o.MaxStall,
		Policies: o.Policies, CacheMessages: o.Cache, CacheBytes: int(o.CacheBytes),
	}
}

type publisherOptions struct {
	sendOptions
	listenOptions
	SubscriberBytes units.Bytes
}

func (o *publisherOptions) config(set tags.Set) bus.PublisherConfig {
	return bus.PublisherConfig{
		Common: o.common(), Listening: o.listening(), Sending: o.sending(), Tags: set, SubscriberBytes: int(o.SubscriberBytes),
	}
}

type senderOptions struct{ sendOptions }

func (o *senderOptions) config(set tags.Set) bus.SenderConfig {
	return bus.SenderConfig{Common: o.common(), Sending: o.sending(), Tags: set}
}

// receiveOptions are those of subscribers and receivers.
type receiveOptions struct {
	commonOptions
	MaxMessageBytes units.Bytes
	QueueBytes      units.Bytes
	RetainBytes     units.Bytes
}

func (o *receiveOptions) receiving() bus.Receiving {
	return bus.Receiving{MaxMessageBytes: int(o.MaxMessageBytes), QueueBytes: int(o.QueueBytes), RetainBytes: int(o.RetainBytes)}
}

// duplicates is the value of --duplicates.
type duplicates bus.Duplicates

// UnmarshalText reads all, newest or refuse.
func (d *duplicates) UnmarshalText(text []byte) error {
	switch string(text) {
	case "all":
		*d = duplicates(bus.DuplicatesAll)
	case "newest":
		*d = duplicates(bus.DuplicatesNewest)
	case "refuse":
		*d = duplicates(bus.DuplicatesRefuse)
	default:
		return fmt.Errorf("got %q, want all, newest or refuse", text)
	}
	return nil
}

type subscriptionOptions struct {
	Policy     bus.Policy `default:"block"`
	Backlog    units.Bytes
	Replay     int
	Duplicates duplicates `default:"all"`
	Timeout    time.Duration
}

func (o *subscriptionOptions) config() bus.SubscriptionConfig {
	return bus.SubscriptionConfig{
		Policy: o.Policy, BacklogBytes: int(o.Backlog), Replay: o.Replay, Duplicates: bus.Duplicates(o.Duplicates), Timeout: o.Timeout,
	}
}

type receiverOptions struct {
	receiveOptions
	listenOptions
	subscriptionOptions
}

func (o *receiverOptions) config(set tags.Set) bus.ReceiverConfig {
	return bus.ReceiverConfig{
		Common: o.common(), Listening: o.listening(), Receiving: o.receiving(), Tags: set, Subscription: o.subscriptionOptions.config(),
	}
}

type requesterOptions struct {
	Timeout    time.Duration
	MaxWaiting int
}

// stateOptions are those of tagbus_state.
type stateOptions struct {
	Tags     tags.Set
	MaxPeers int `default:"256"`
	MaxTags  int `default:"16"`
}

func (o *stateOptions) question() state.Question {
	return state.Question{Peers: o.MaxPeers, Busiest: o.MaxTags, LostTags: o.MaxTags, Tags: o.Tags}.Bounded()
}
