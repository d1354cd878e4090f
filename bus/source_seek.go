package bus

import "time"

// A publisher that leaves the directory may be ending, and wait for subscribers whose
// connections are just lost. So a publisher that owes messages is sought before it is
// given up: its last addresses are dialed a few times.
const (
	maxSeeks = 3
	seekTime = 2 * time.Second // after which there is no other try
)

// seek is the search for a publisher that is not in the directory.
type seek struct {
	on    bool
	done  bool // in vain
	tries int
	begun time.Time
}

// seeks begins to seek a publisher that is neither in the directory nor connected, and
// reports whether it is being sought.
func (src *source) seeks() bool {
	if src.seek.on && src.contact.Waiting() {
		return true
	}
	if src.seek.on { // nothing is wanted of it any more
		src.seek.on, src.seek.done = false, true
	}
	if src.seek.done || src.sub.isDialed() || src.requests.Owing() == 0 || src.contact.ended || src.vanished {
		return false
	}
	src.seek = seek{on: true, begun: time.Now()}
	if src.contact.refusal != "" { // it has been dialed in vain already
		src.seek.tries = maxSeeks - 1
	}
	src.contact.Wait(src.sub.cfg.ReconnectMin)
	return true
}

// sought notes that a try to connect has failed.
func (src *source) sought() {
	if !src.seek.on || src.contact.listed || !src.contact.Waiting() {
		return
	}
	if src.seek.tries++; src.seek.tries >= maxSeeks || time.Since(src.seek.begun) > seekTime {
		src.seek.on, src.seek.done = false, true
		src.unlisted()
	}
}
