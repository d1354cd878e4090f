// SPDX-License-Identifier: Apache-2.0

package out

import (
	"errors"
	"math"
	"net/netip"
	"time"

	"tagbus/bus"
	"tagbus/internal/validate"
	"tagbus/tags"
)

// ErrInvalidConfig is wrapped in the errors of Config.Validate, once for each violation.
var ErrInvalidConfig = errors.New("bridge/out: invalid configuration")

// Config says what a bridge writes, and how. Only Tags has no default.
type Config struct {
	// Tags are written, of all publishers.
	Tags tags.Set

	// Subscription says what publishers do when the bridge is slow, and how many messages that they
	// have kept come first (Replay), which fills what was missed while no bridge ran. Its Batches, Duplicates
	// and Timeout must be zero.
	Subscription bus.SubscriptionConfig

	// Name is what the bus shows of the bridge. Default "tagbus-bridge".
	Name string

	// Monitor is where the metrics of the program are, for the directory. Default: nowhere.
	Monitor netip.AddrPort

	// HeldBytes is how much may wait for the log. At this limit the bridge reads nothing until
	// half of it is stored. Default 64 MiB; 1 MiB to 1 TiB.
	HeldBytes int

	// MaxChains is how many publishers and tags there may be that are alive or not stored yet, for each of which 250 to 700 bytes are
	// kept. One more ends the bridge with a *TooManyError. Default 1,048,576; 1 to 2^31-1.
	MaxChains int

	// Spool is a folder, which is made if it is not there, for what waits beyond half of HeldBytes, while the log is slow or
	// away; of this bridge alone. What is in it survives the bridge, and not a power cut of its machine: the next bridge with it
	// goes on with that. Default "": what waits is in memory alone.
	Spool string

	// SpoolBytes is how much the files of Spool may have. At this limit it is as without one: up to HeldBytes
	// wait in memory. Default 1 GiB, or HeldBytes if that is more; HeldBytes to 1 PiB.
	SpoolBytes int64

	// SpoolPatience is how long the file system of Spool may do nothing before the bridge goes on without it; what it cannot
	// read by then is recorded as lost, with the cause spool. Default 1m; 1s to ten years.
	SpoolPatience time.Duration

	// RecordBytes is how large a record with several messages may be. Default 256 KiB, or what
	// the log takes if that is less; 1 KiB to 1 GiB.
	RecordBytes int

	// RecordMessages is how many messages a record may have; 1: each has a record of its own.
	// Default 0: no limit; up to 2^31-1.
	RecordMessages int

	// Flights is how many records may be on their way to the log, of one publisher and tag
	// each. Default 512; 1 to 65536.
	Flights int

	// Retry is how long the bridge waits after an outage begins before it tries again. It doubles
	// up to RetryMax. Defaults 50ms and 2s; 1ms to ten years.
	Retry, RetryMax time.Duration

	// Absence is how long after the start publishers may come back that the log knows. After it their
	// chains end in the log as Away. Default 30s; 1ms to ten years.
	Absence time.Duration

	// OnEvent is told what the subscriber is told; see bus.Event for threads. Default: nothing.
	OnEvent func(bus.Event)

	// OnProblem is told when an outage of the log begins, of messages that are too large for
	// it, and of what is wrong with the spool. It is called on any goroutine with a lock held: it must not block and not call the
	// Bridge. Default: nothing.
	OnProblem func(error)
}

func (c Config) withDefaults() Config {
	validate.Default(&c.Name, "tagbus-bridge")
	validate.Default(&c.HeldBytes, 64<<20)
	validate.Default(&c.MaxChains, 1<<20)
	validate.Default(&c.SpoolBytes, max(1<<30, int64(c.HeldBytes)))
	validate.Default(&c.SpoolPatience, time.Minute)
	validate.Default(&c.RecordBytes, 256<<10)
	validate.Default(&c.Flights, 512)
	validate.Default(&c.Retry, 50*time.Millisecond)
	validate.Default(&c.RetryMax, max(2*time.Second, c.Retry))
	validate.Default(&c.Absence, 30*time.Second)
	if c.OnEvent == nil {
		c.OnEvent = func(bus.Event) {}
	}
	if c.OnProblem == nil {
		c.OnProblem = func(error) {}
	}
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	if c.Tags.IsEmpty() {
		v.Add("Tags are empty, want those that are to be written")
	}
	v.Field("Subscription", c.Subscription.Validate())
	if s := c.Subscription; s.Batches || s.Timeout != 0 || s.Duplicates != bus.DuplicatesAll {
		v.Add("Subscription has Batches %t, Timeout %v and Duplicates %d, want false, 0 and %d: a bridge has a handler, waits for ever and writes what all publishers send", s.Batches, s.Timeout, s.Duplicates, bus.DuplicatesAll)
	}
	validate.Within(&v, "HeldBytes", int64(c.HeldBytes), 1<<20, 1<<40)
	validate.Within(&v, "MaxChains", c.MaxChains, 1, math.MaxInt32)
	validate.Within(&v, "SpoolBytes", c.SpoolBytes, int64(c.HeldBytes), 1<<50)
	validate.Within(&v, "SpoolPatience", c.SpoolPatience, time.Second, validate.MaxDuration)
	validate.Within(&v, "RecordBytes", c.RecordBytes, 1<<10, 1<<30)
	validate.Within(&v, "RecordMessages", c.RecordMessages, 0, 1<<31-1)
	validate.Within(&v, "Flights", c.Flights, 1, 1<<16)
	validate.Within(&v, "Retry", c.Retry, time.Millisecond, validate.MaxDuration)
	validate.Within(&v, "RetryMax", c.RetryMax, c.Retry, validate.MaxDuration)
	validate.Within(&v, "Absence", c.Absence, time.Millisecond, validate.MaxDuration)
	return v.Err()
}
