// SPDX-License-Identifier: Apache-2.0

package tcp

const (
	recordHead = 5
	recordTag  = 1 + 16 // the type of what is in a record, and the seal
)

// readAhead is how much is read beyond the record that crypto/tls wants to open: the
// head of what follows, or a few small records. All of it is opened without another look at
// the time.
const readAhead = 256

// recordCounter follows the records of TLS 1.3 in a stream of bytes that it does not keep.
// Each has a head of five bytes: type, version, and length.
type recordCounter struct {
	head  [recordHead]byte
	have  int    // of head
	rest  int    // bytes of the record that are still to come, once the head is whole
	size  int    // of it without head
	plain uint64 // bytes in whole records, without their seals: data, and what else there is
}

// left returns how many bytes of the record are still to come; 0: its head is not whole.
func (c *recordCounter) left() int { return c.rest }

// pass follows the next bytes, and returns how many records begin in them: a record begins
// with the end of its head.
func (c *recordCounter) pass(p []byte) (records int) {
	for len(p) > 0 {
		if c.rest == 0 {
			n := copy(c.head[c.have:], p)
			p = p[n:]
			if c.have += n; c.have < recordHead {
				break
			}
			records++
			c.have = 0
			c.size = int(c.head[3])<<8 | int(c.head[4])
			if c.rest = c.size; c.rest > 0 {
				continue
			}
		}
		n := min(c.rest, len(p))
		p = p[n:]
		if c.rest -= n; c.rest == 0 && c.head[0] == dataRecord {
			c.plain += uint64(max(c.size-recordTag, 0))
		}
	}
	return records
}

// dataRecord is the type of all records that are sealed.
const dataRecord = 23
