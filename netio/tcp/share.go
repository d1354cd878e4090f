package tcp

// How much an endpoint reads in a turn, unless Config.ReadBudgetBytes says it: the
// endpoints that have more to read than one turn allows share turnBytes. So a round
// of all of them is short, and a turn with a thousand is no longer than with 32.
const (
	// mostReadBytes is what an endpoint reads when few are busy. 1 MiB is not
	// faster, and 64 KiB not slower (make bench ONLY=^settings/).
	mostReadBytes = 256 << 10

	// leastReadBytes is what it reads with however many others: less would cost
	// a system call for a few messages.
	leastReadBytes = 16 << 10
)

// readBudget returns what an endpoint may read in this turn that is not behind.
func (b *backend) readBudget() int {
	if fixed := b.config.ReadBudgetBytes; fixed > 0 {
		return fixed
	}
	return min(max(turnBytes/(b.behind+1), leastReadBytes), mostReadBytes)
}

// fallBehind leaves what the endpoint has to read to its next turn.
func (e *endpoint) fallBehind() {
	if !e.behind {
		e.behind = true
		e.backend.behind++
	}
	e.Leave(toRead)
}

// catchUp says that this turn has come, or that there is no other.
func (e *endpoint) catchUp() {
	if e.behind {
		e.behind = false
		e.backend.behind--
	}
}
