// SPDX-License-Identifier: Apache-2.0

// Package words puts messages of the packages below, which speak of their configuration, into the
// words of the command line. The commands and the page say them alike.
package words

import (
	"strings"

	"tagbus/internal/sanitize"
)

// flagNames says in the words of the command line what the packages below
// say in those of their configuration.
var flagNames = strings.NewReplacer(
	"SubscriberConfig.MaxMessageBytes", "--max-message-bytes of the subscriber",
	"PublisherConfig.MaxMessageBytes", "--max-message-bytes of the publisher",
	"PublisherConfig.Tags", "--tags of the publisher",
	"PublisherConfig.PoolBytes", "--pool-bytes of the publisher",
	"raise SubscriptionConfig.BacklogBytes or choose another policy", "raise --backlog or choose another --policy",
	"BacklogBytes is", "--backlog is",
	"lower BacklogBytes, or use fewer policies", "lower --backlog, or raise --subscriber-bytes of the publisher",
	"ReceiverConfig.MaxMessageBytes", "--max-message-bytes of the subscriber",
	"SenderConfig.MaxMessageBytes", "--max-message-bytes of the publisher",
	"SenderConfig.Tags", "--tags of the publisher",
	"PageBytes is", "--page-bytes is",
	"MaxMessageBytes is", "--max-message-bytes is",
	"QueueBytes is", "--queue-bytes is",
	"SubscriberBytes is", "--subscriber-bytes is",
	"PoolBytes is", "--pool-bytes is",
	"CacheMessages is", "--cache is",
	"CacheBytes is", "--cache-bytes is",
	"but nothing is kept: set CacheMessages", "but nothing is kept: set --cache",
	"Replay is", "--replay is",
	"FlushInterval is", "--flush-interval is",
	"Name has", "--name has",
	"Advertise: ", "--advertise: ",
	"set Advertise to name others", "--advertise names others",
	"or choose one by SubscriptionConfig.Duplicates", "or give each its own --tags",
	"raise SubscriberConfig.QueueBytes", "raise --queue-bytes",
	"Also: the backend is", "--listen-also: the transport is",
	"Monitor is", "--metrics is",
	"Loops is", "--loops is",
	"HeartbeatTimeout", "--heartbeat-timeout",
	"HeartbeatInterval", "--heartbeat",
	"HeartbeatsOff", "0",
	"set PublisherConfig.Listen to an address", "start it with --listen HOST:0, an address",
	"set ReceiverConfig.Listen to an address", "start it with --listen HOST:0, an address",
	"PublisherConfig.MaxStall", "--max-stall of the publisher",
	"MaxStall is", "--max-stall is",
	`use the same backend for both, here "shm,tls" (node.Config.Backend)`, "give --cert and --ca, the certificates of this program (tagbus cert issue makes them)",
	`use the same backend for both, here "tls" (node.Config.Backend)`, "give --cert and --ca, the certificates of this program (tagbus cert issue makes them)",
	`tcp: the peer speaks TLS: use the same backend, "tls", at both ends`, "the peer speaks TLS: give --cert and --ca, the certificates of this program (tagbus cert issue makes them)",
	`the peer speaks plain tcp: use the same backend, "tls", at both ends`, "the peer speaks plain tcp, and this program TLS: start the peer with --cert and --ca, too",
	"(node.Config.Backend)", "(--backend; see --fabrics for what this host can use)",
	"Tags is empty", "--tags is empty",
	"observer: denied: ", "denied: ",
	"bus: invalid configuration: ", "",
	"directory: invalid URL: ", "",
	"directory/file: invalid configuration: Expiry is", "--expiry is",
	"directory/etcd: invalid configuration: Expiry is", "--expiry is",
	"directory/etcd: invalid configuration: ", "--bus: ",
	"start a publisher or a receiver with the same folder", "start a publisher (or subscriber --receive) with the same --bus",
	"\n", "; ",
)

// WithFlags returns a text in the words of the command line, as it is otherwise.
func WithFlags(text string) string { return advised(flagNames.Replace(text)) }

// limits are what the system says of limits that are set where programs are started, and how.
var limits = []struct{ says, set string }{
	{"too many open files in system", "raise fs.file-max"},
	{"too many open files", "raise the limit: ulimit -n, LimitNOFILE= of systemd"},
}

// advised returns a text with what to do about a limit, unless it says that already.
func advised(text string) string {
	for _, l := range limits {
		if strings.Contains(text, l.says) {
			if strings.Contains(text, "raise ") {
				return text
			}
			return strings.Replace(text, l.says, l.says+" ("+l.set+")", 1)
		}
	}
	return text
}

// Of returns a text as one line, safe to show, in the words of the command line.
func Of(text string) string { return sanitize.Line(WithFlags(text)) }
