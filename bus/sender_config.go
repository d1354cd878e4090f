// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/internal/validate"
	"tagbus/tags"
)

// SenderConfig says how a Sender sends. The zero value is good.
type SenderConfig struct {
	Common
	Dialing
	Sending

	// Tags are the tags that may be sent to. The receivers that own them are dialed at
	// once. Default: any tag; its receiver is dialed at the first use.
	Tags tags.Set
}

// withDefaults fills in what is not a publisher's.
func (c SenderConfig) withDefaults() SenderConfig {
	c.Dialing.setDefaults()
	return c
}

// publisher returns the configuration of the publisher inside a sender.
func (c SenderConfig) publisher() PublisherConfig {
	set := c.Tags
	if set.IsEmpty() {
		set = tags.Everything()
	}
	return PublisherConfig{Common: c.Common, Sending: c.Sending, Tags: set, MaxSubscribers: maxReceivers}
}

// maxReceivers is no limit: the sender itself dials all of them.
const maxReceivers = 1 << 20

// Validate reports all violations of c, joined; each wraps ErrInvalidConfig
// and names the field, its value and its limit.
func (c SenderConfig) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrInvalidConfig}
	v.Join(c.publisher().Validate())
	c.Dialing.check(&v)
	return v.Err()
}
