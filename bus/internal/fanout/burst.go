// SPDX-License-Identifier: Apache-2.0

package fanout

// A burst that is left to the loop wakes two threads one after the other: the loop, and the
// subscriber. Its publisher could send it with less delay and at less cost, but the end of
// a burst does not show. What reads out a detector publishes as many messages for each event,
// though. So once the bursts of a stream have had the same length, the next one is foretold
// to have it too: the goroutine that publishes its last message sends it.
//
// What is foretold may be wrong:
//
//   - The burst is longer. That costs one send more, and the rest of it is left to the
//     loop, which is woken at once.
//   - The burst is shorter. It waits for the first messages of the next one, or for the loop,
//     whose timer also serves the bursts that follow. So the loop wakes for few of them.
//
// If the lengths are independent of each other, one burst of e·(calmBursts+1), about 180, is
// foretold to be longer than it is, at most.
const (
	alikeBursts = 4  // of the same length, more than of others, before an end is foretold
	mostAlike   = 16 // that are counted
	longerCosts = 2  // of them, if a burst is longer: an end is foretold while fewer than a third are
	calmBursts  = 64 // in a row that are not shorter, before an end is foretold again
)

// bursts is what a stream knows of its bursts. Guarded by stream.mu.
type bursts struct {
	sealed uint32 // messages of this burst in pages that are sealed
	length uint32 // of the bursts before
	alike  int    // how many of them had this length, less those that were longer
	calm   int    // in a row that were not shorter
	told   uint32 // how many messages this burst is to have, or was to have; 0: that is not known
	fooled bool   // a burst was shorter than was foretold
}

// over notes that a burst is over, since the next one begins.
func (b *bursts) over() {
	n, told := b.sealed, b.told > 0
	b.sealed, b.told = 0, 0
	b.calm = min(b.calm+1, calmBursts)
	switch {
	case n == b.length:
		b.alike = min(b.alike+1, mostAlike)
		return
	case n > b.length && b.alike > longerCosts: // a publisher that was late makes two bursts one
		b.alike -= longerCosts
		return
	case n < b.length:
		b.wrong(told)
	}
	b.length, b.alike = n, 0
}

// wrong notes that a burst was shorter than those before it.
func (b *bursts) wrong(told bool) { b.calm, b.fooled = 0, b.fooled || told }

// foretell decides, with the first message of a burst, whether its end is known. mu is held.
func (s *stream) foretell(now int64) bool {
	b := &s.bursts
	known := b.length > 1 && b.alike >= alikeBursts && (b.calm == calmBursts || !b.fooled)
	// Not more often than the loop would send, and nothing that it would send in any case.
	if !known || now-s.sent < int64(spacing) || s.last > directBytes || !s.few() || s.solo != nil || s.writer.Messages > 1 {
		return false
	}
	b.told = b.length
	s.leave(now, now+max(int64(floodTick), int64(b.calm)*int64(spacing)/2)) // no longer than those before have saved
	s.watch = max(watched, b.told)
	return true
}

// foretold decides about a page whose burst is to end with message told. mu is held.
func (s *stream) foretold(now int64) {
	late := now-s.opened > int64(spacing) // in the place of the loop
	switch {
	case !late && s.writer.Messages < s.told:
		return
	case s.allBusy():
		s.watch, s.told = 0, 0
		return
	}
	s.sendNow(now)
	if late || s.directs < len(s.lanes) { // the loop is woken in any case
		s.wrong(true)
	}
}
