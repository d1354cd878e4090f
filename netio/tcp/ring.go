// SPDX-License-Identifier: Apache-2.0

package tcp

// chunkEntries is how many entries of a ring are made together. It is a power of two, and
// enough for what a connection sends now and then.
const chunkEntries = 4

// ring is the memory of the entries of a queue. It is as large as the most that were
// needed at the same time: an entry that follows an empty queue lies at the beginning. So
// an idle connection, which sends a little at times, needs one chunk.
type ring struct {
	chunks []*[chunkEntries]entry // a power of two of them, made as they are needed
	origin uint64                 // the number of the first entry in the first chunk
}

// at returns the memory of entry i, which next has made.
func (r *ring) at(i uint64) *entry {
	place := (i - r.origin) & uint64(len(r.chunks)*chunkEntries-1)
	return &r.chunks[place/chunkEntries][place%chunkEntries]
}

// next returns the memory of entry i, which follows the others. Nothing else may use the
// ring if it is idle; otherwise at may be called for the others meanwhile.
//
//   - places: for at least so many entries at the same time, a power of two; always the same.
//   - idle: there are no others.
//   - Errors: none; it allocates.
func (r *ring) next(i uint64, places int, idle bool) *entry {
	if idle {
		r.origin = i
		if r.chunks == nil {
			r.chunks = make([]*[chunkEntries]entry, max(1, places/chunkEntries))
		}
	}
	place := (i - r.origin) & uint64(len(r.chunks)*chunkEntries-1)
	chunk := &r.chunks[place/chunkEntries]
	if *chunk == nil {
		*chunk = new([chunkEntries]entry)
	}
	return &(*chunk)[place%chunkEntries]
}
