// SPDX-License-Identifier: Apache-2.0

// Package arena finds the memory for the next page of a stream.
//
// An Arena cuts the buffers of a pool into runs. A run is as long as what is written into
// it, so that the pool is full of messages, however short the pages are. A Tail is the
// end of the buffer that one stream is writing: its runs stand one behind the other. A
// buffer is free again once all of its runs are.
//
//	buffer  |run of A|run of A|run of A|    rest    |   A's Tail is its owner
//
// Two streams do not write into the same buffer, or the slow subscriber of one would keep
// the memory of the other. Only if the pool is empty, a stream takes the rest of another
// one's buffer. A stream that has nothing on its way holds no memory: its buffer goes back
// to the pool with the last run, and the next run begins another.
//
// A message that is larger than the rest goes into another buffer. While more than half of the pool
// is free, and less than an eighth of it lies in rests, the message is there in one piece, so that a subscriber within the host
// reads it where it is. Otherwise less than an eighth of a buffer is left unused, since a larger rest takes the first part of
// the message.
package arena
