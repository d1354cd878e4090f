// SPDX-License-Identifier: Apache-2.0

package expected

import "slices"

// Sets of faults.
var (
	network    = []Fault{LinkDown, PacketsDropped, PacketsLost, ConnectionsReset, AddressChanged}
	publisher  = []Fault{PublisherKilled, PublisherEnds, PublisherStops, End}
	subscriber = []Fault{SubscriberKilled, SubscriberEnds, SubscriberStops, SubscriberLags, End}
	directory  = []Fault{DirectoryKilled, DirectoryStops, LinkDown, PacketsDropped, PacketsLost, ConnectionsReset, AddressChanged, End}
	peers      = slices.Concat(network, publisher, subscriber, []Fault{CertificatesRenewed})
)

// patterns are the lines of each program. Those of package load are "what: error".
var patterns = map[string][]pattern{
	"publisher": {
		of(`^(ready|begins|connected|subscribed|resubscribed|announced)$`, Nothing),
		of(`^ended$`, PublisherEnds, End),
		of(`^(lost|left|stalled|resumed|refused|unsubscribed|undelivered)\b`, peers...),
		of(`^problem: `, slices.Concat(directory, peers, []Fault{Strangers})...),
	},
	"subscriber": {
		of(`^(ready|complete|connected|subscribed|resubscribed)$`, Nothing),
		of(`^ended$`, SubscriberEnds, End),
		of(`^(lost|left|refused|vanished|goodbye|duplicate|unsubscribed)\b`, peers...),
		of(`^problem: `, slices.Concat(directory, peers)...),
	},
	"directory": {of(`.`, Nothing)},
	"recorder":  {of(`.`, Nothing)},
	"web":       {of(`.`, Nothing)},
	"top":       {of(`.`, Nothing)},
}
