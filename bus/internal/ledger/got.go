// SPDX-License-Identifier: Apache-2.0

package ledger

// Got is how many messages of a lane a subscriber has received: the other end of Said.
// The zero value is that of a lane that it has not subscribed to yet.
type Got struct {
	all  uint64 // since the publisher was first met
	told uint64 // of those, on this connection
	here bool   // the lane is acknowledged on this connection
}

// Add counts messages.
func (g *Got) Add(messages uint64) { g.all += messages }

// Begin notes that the publisher has acknowledged the lane. The first time on a
// connection, it is to be told how many messages earlier ones have brought.
func (g *Got) Begin() (total uint64, tell bool) {
	if g.here {
		return g.all, false
	}
	g.here, g.told = true, g.all
	return g.all, true
}

// News returns how many messages there are in all, and whether the publisher is to be
// told so: they are more than last time.
func (g *Got) News() (total uint64, tell bool) {
	tell = g.here && g.told != g.all
	if tell {
		g.told = g.all
	}
	return g.all, tell
}

// Here reports whether the lane is acknowledged on this connection.
func (g *Got) Here() bool { return g.here }

// Disconnected notes the end of the connection.
func (g *Got) Disconnected() { g.here, g.told = false, 0 }
