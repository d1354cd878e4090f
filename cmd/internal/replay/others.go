// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/units"
)

// maxNamed is how many publishers are named.
const maxNamed = 3

// sayOthers names the publishers that have some of the tags, too: the detector that was
// recorded may still run.
func (r *run) sayOthers() {
	entries, _ := r.dir.List() // the problems are of others: events tell
	n := 0
	for _, e := range entries {
		if e.Role != directory.Publisher || e.Instance == r.publisher.Instance() || !e.Tags.Intersects(r.tags) {
			continue
		}
		if n++; n <= maxNamed {
			peer := bus.Peer{Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID}
			r.console.Warn("%v publishes some of these tags, too: subscribers get the messages of both; --map publishes under other tags", &peer)
		}
	}
	if more := n - maxNamed; more > 0 {
		r.console.Warn("%s more with some of these tags", units.FormatNumber(more, "publisher"))
	}
}
