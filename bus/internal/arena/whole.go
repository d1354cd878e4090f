// SPDX-License-Identifier: Apache-2.0

package arena

// TakeWhole takes a run of n bytes, up to the size of a buffer, as one piece, and ends it.
//
//   - Result: false if there is not so much memory in one piece; then nothing is taken.
func (a *Arena) TakeWhole(t *Tail, n int) (x Piece, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := t.chunk
	if n > t.rest() {
		if c = a.whole(t, n); c == nil {
			return Piece{}, false
		}
	}
	x = a.begin(c, t)
	x.Mem, x.cold = x.Mem[:n:n], n >= a.size/floodShare
	c.used += n
	a.offer(c)
	return x, true
}

// whole returns a chunk of which n bytes are free: that of a new buffer, or the rest of another
// run. It is nil if there is none. mu is held.
func (a *Arena) whole(t *Tail, n int) *Chunk {
	if t.spare, _ = a.pool.GetAll(t.spare, 1); len(t.spare) > 0 {
		return a.open(t)
	}
	for _, c := range a.rests[max(0, len(a.rests)-maxPieces):] {
		if c.rest() >= n {
			return c
		}
	}
	return nil
}
