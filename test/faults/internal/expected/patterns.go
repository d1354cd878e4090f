// SPDX-License-Identifier: Apache-2.0

package expected

import "slices"

// Sets of faults.
var (
	network    = []Fault{LinkDown, PacketsDropped, PacketsLost, ConnectionsReset, AddressChanged, Busy}
	publisher  = []Fault{PublisherKilled, PublisherEnds, PublisherStops, End}
	subscriber = []Fault{SubscriberKilled, SubscriberEnds, SubscriberStops, SubscriberLags, End}
	directory  = []Fault{DirectoryKilled, DirectoryStops, LinkDown, PacketsDropped, PacketsLost, ConnectionsReset, AddressChanged, Busy, End}
	peers      = slices.Concat(network, publisher, subscriber, []Fault{CertificatesRenewed})
)

const (
	// short is a loop that waits for its turn on a machine with other work, and long one on a machine that stands still.
	short = `WARN event loop is blocked source=.* for=([0-9.]+ms|[12](\.[0-9]+)?s) `
	long  = `WARN event loop is blocked source=.* for=`

	// expires is a certificate that has ended, and was replaced before.
	expires = `^problem: certificate .*: expired`
)

// patterns are the lines of each program. Those of package load are "what: error".
var patterns = map[string][]pattern{
	"publisher": {
		of(`^(ready|begins|connected|subscribed|resubscribed)$`, Nothing),
		of(`^announced$`, directory...), // after a change of the address, once the directory takes it
		of(`^ended$`, PublisherEnds, End),
		of(`^(lost|left|stalled|resumed|refused|unsubscribed|undelivered)\b`, peers...),
		of(`^problem: bus: the entry (in|is in|is not in) the directory `, directory...),
		of(`^failed: directory/etcd: the servers do not answer `, directory...), // and the entry could not be removed
		of(`INFO etcd: the lease has ended; announcing again`, directory...),
		of(`WARN tcp: an accepted connection is closed before it is secure `, slices.Concat(peers, []Fault{Strangers})...),
		of(`INFO tcp: accepted connections are secure again`, slices.Concat(peers, []Fault{Strangers})...),
		of(expires, CertificatesRenewed),
		of(short, Nothing), of(long, Busy, PublisherStops),
	},
	"subscriber": {
		of(`^(ready|complete|connected|subscribed|resubscribed)$`, Nothing),
		of(`^ended$`, SubscriberEnds, End),
		of(`^(lost|left|refused|vanished|goodbye|duplicate|unsubscribed)\b`, peers...),
		of(`^problem: directory/etcd: the servers do not answer `, directory...),
		of(`INFO etcd: the lease has ended; announcing again`, directory...),
		of(`^problem: directory: the storage does not answer for `, directory...),
		of(`^problem: directory: the entry of .* is not used: certificate .*: expired`, directory...), // and could not be signed again
		of(expires, CertificatesRenewed),
		of(short, Nothing), of(long, Busy, SubscriberStops, SubscriberLags),
	},
	"directory": {
		of(`tagbus-directory: the directory is at `, Nothing),
		of(`warn: etcd: (apply request took too long|slow fdatasync|request stats|waiting for ReadIndex)`, Nothing),
		// A lease ends when its owner is not heard of, and what the owner asks for then is refused.
		of(`warn: etcd: failed to (apply request|revoke lease) .*lease not found`, slices.Concat(peers, directory)...),
		// The connection of a client ends while it is being answered.
		of(`warn: etcd: failed to (send|receive) .* (to|from) gRPC stream`, slices.Concat(peers, directory)...),
		of(`warn: etcd: (failed to (apply request|revoke lease)|Ignore the lease revoking|Failed to check current member's leadership|ignored out-of-date read index)`, DirectoryKilled, DirectoryStops, Busy),
		of(`.`, DirectoryKilled, DirectoryStops, Busy, End),
	},
	"recorder": {
		of(`INFO tagbus record: (not )?whole: `, Nothing),
		of(`ERROR tagbus record: .* is not whole: `, Nothing),
		of(`.`, DiskFull, End),
	},
	"web": {
		of(`^the page is at |^warning: other hosts can reach `, Nothing),
	},
	"top": {
		of(`^tagbus: the bus is empty: `, Nothing),
		of(`^tagbus: problem: (directory|etcd://)`, directory...),
		of(`^tagbus: warning: .*: certificate .*: (ends soon|expired)`, CertificatesRenewed),
		of(`^tagbus: [a-z -]+: (pub|sub)[0-9]+ on `, slices.Concat(peers, directory)...), // what is wrong with an instance
	},
}
