// SPDX-License-Identifier: Apache-2.0

package in

import (
	"context"
	"errors"
	"math"

	"tagbus/bridge/durable"
	"tagbus/bus"
	"tagbus/internal/validate"
)

// ErrInvalidConfig is wrapped in the errors of Config.Validate, once for each violation.
var ErrInvalidConfig = errors.New("bridge/in: invalid configuration")

// The slowest and the fastest speed.
const (
	minSpeed = 1e-6
	maxSpeed = 1e6
)

// Config says what is published, and how. The zero value publishes the whole log as fast as subscribers take it.
type Config struct {
	// Query says which part of the log is published.
	Query durable.Query

	// Position is a file that keeps how far the log was published, of this run alone. It is made if it is not there. A later run with it
	// goes on behind that, and Query.Start is about the first one. After a Run that has ended in order each message was published once; one that
	// is killed has published what is behind the position, some seconds of messages, and the next one publishes it again. Default "": none.
	Position string

	// Speed is how many times as fast as they came messages are published, 1e-6 to 1e6. Messages that
	// are late are published at once. Default 0: as fast as subscribers take them.
	Speed float64

	// Subscribers is how many subscribers are waited for before the first message. Default 0: none.
	Subscribers int

	// MaxChains is how many publishers and tags the log may have, for each of which some 200 bytes are kept. More are a
	// *TooManyError. Default 1,048,576; 1 to 2^31-1.
	MaxChains int

	// Hurry ends the 5 seconds that subscribers have for what is published when the context of Run has ended. Default nil: they have
	// them.
	Hurry context.Context

	// OnProblem is told when a log that is followed is away. Default: nothing.
	OnProblem func(error)

	// OnPublisher is told the publisher when it is open, for its state and its metrics. Its error ends the run. Default:
	// nothing.
	OnPublisher func(*bus.Publisher) error

	// Publisher is the configuration of the publisher. Its Tags must be empty: they are those in the log.
	Publisher bus.PublisherConfig
}

func (c Config) withDefaults() Config {
	validate.Default(&c.MaxChains, 1<<20)
	if c.Hurry == nil {
		c.Hurry = context.Background()
	}
	return c
}

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig and names the
// field, its value and its limit.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	if math.IsNaN(c.Speed) || c.Speed != 0 && (c.Speed < minSpeed || c.Speed > maxSpeed) {
		v.Add("Speed is %v, want %g to %g, or 0 for no pauses", c.Speed, minSpeed, maxSpeed)
	}
	validate.Within(&v, "MaxChains", c.MaxChains, 1, math.MaxInt32)
	validate.Within(&v, "Subscribers", c.Subscribers, 0, math.MaxInt32)
	if !c.Publisher.Tags.IsEmpty() {
		v.Add("Publisher.Tags are set, want none: they are those in the log")
	}
	return v.Err()
}
