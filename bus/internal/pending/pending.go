// SPDX-License-Identifier: Apache-2.0

// Package pending finds the request that a reply belongs to.
//
// A requester gives each request an id: the number of the request, sealed with a key that is
// its own. The device gives the id back with the reply. So a reply names its request, and
// one that names none that waits is late, a duplicate, or for another requester.
//
// All subscribers of the reply tag see the ids of requests that were answered. None of them
// can make that of the next one of it, and answer before the device.
package pending

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
)

// ID names a request: a block of AES, in which 8 zeros and the number of the request, u64,
// are encrypted. Only the requester can read it.
type ID [16]byte

// Window is how many of the newest requests are remembered as answered or not. An older
// one that ended counts as not answered.
const Window = 4096

// ErrFull is the error of Begin if as many requests wait as may.
var ErrFull = errors.New("too many requests wait")

// ErrEnded is the error of Await if no reply can come any more.
var ErrEnded = errors.New("no reply can come any more")

// Request is a request that waits for its reply, or has waited.
type Request[M any] struct {
	ID      ID
	Command []byte
	Reply   chan M // capacity 1; has the reply once the request does not wait any more, unless Cancel ended it

	number uint64
}

// Counts are how many replies have come.
type Counts struct {
	Replies    uint64 // to a request that waited
	Late       uint64 // the first to one that had ended without
	Duplicates uint64 // to one that has had a reply, late or not
	Others     uint64 // to none of this requester
	WithoutID  uint64 // without id, which answer none
}

// Book has the requests of one requester.
//
// Threads: any.
type Book[M any] struct {
	sealed cipher.Block
	most   int

	mu       sync.Mutex
	last     uint64        // number of a request
	waiting  []*Request[M] // ascending numbers
	answered [Window / 64]uint64
	counts   Counts
}

// New returns a book without requests.
//
//   - most: how many may wait at a time, at least 1.
func New[M any](most int) *Book[M] {
	var key [16]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 16 bytes are a key
	}
	return &Book[M]{most: most, sealed: block}
}

// seal returns the id of a request.
func (b *Book[M]) seal(number uint64) (id ID) {
	binary.LittleEndian.PutUint64(id[8:], number)
	b.sealed.Encrypt(id[:], id[:])
	return id
}

// unseal returns the number of a request; 0: the id is not of this requester, as far as its
// first 8 bytes can tell.
func (b *Book[M]) unseal(id ID) (number uint64) {
	b.sealed.Decrypt(id[:], id[:])
	if binary.LittleEndian.Uint64(id[:8]) != 0 {
		return 0
	}
	return binary.LittleEndian.Uint64(id[8:])
}

// Begin makes a request that waits from now on, so that a quick reply finds it.
//
// Errors: ErrFull.
func (b *Book[M]) Begin(command []byte) (*Request[M], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= b.most {
		return nil, ErrFull
	}
	b.last++
	word, bit := place(b.last)
	b.answered[word] &^= bit
	q := &Request[M]{ID: b.seal(b.last), Command: command, Reply: make(chan M, 1), number: b.last}
	b.waiting = append(b.waiting, q)
	return q, nil
}

// Cancel ends the wait for a reply. It returns false if the reply is there, or is about
// to be.
func (b *Book[M]) Cancel(q *Request[M]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.take(q.number) != nil
}

// Await waits for the reply to a request, and otherwise ends the request.
//
//   - ended: closed when none can come any more.
//   - Errors: ErrEnded; the cause of the end of ctx.
func (b *Book[M]) Await(ctx context.Context, q *Request[M], ended <-chan struct{}) (reply M, err error) {
	select {
	case reply = <-q.Reply:
		return reply, nil
	case <-ended:
		err = ErrEnded
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !b.Cancel(q) { // it came at the last moment
		return <-q.Reply, nil
	}
	return reply, err
}

// Answer gives a reply to the request that it names, if that waits, and counts it.
//
//   - own: returns the reply as the request gets it; called at most once, under no lock.
func (b *Book[M]) Answer(id ID, own func() M) {
	if q := b.named(id); q != nil {
		q.Reply <- own()
	}
}

// named takes the request out of the waiting ones that a reply names, if it is there.
func (b *Book[M]) named(id ID) *Request[M] {
	number := b.unseal(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if number == 0 || number > b.last {
		b.counts.Others++
		return nil
	}
	if q := b.take(number); q != nil {
		b.has(number)
		return q
	}
	word, bit := place(number)
	switch {
	case b.last-number >= Window:
		b.counts.Late++
	case b.answered[word]&bit != 0:
		b.counts.Duplicates++
	default:
		b.answered[word] |= bit
		b.counts.Late++
	}
	return nil
}

// Match gives a reply without id to the oldest waiting request that it answers, and counts
// it.
//
//   - answers: reports whether the reply answers a command; nil: none. Called under no lock.
//   - own: as that of Answer.
func (b *Book[M]) Match(answers func(command []byte) bool, own func() M) {
	if answers != nil {
		for _, q := range b.all() {
			if answers(q.Command) && b.matched(q) {
				q.Reply <- own()
				return
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts.WithoutID++
}

func (b *Book[M]) all() []*Request[M] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.waiting)
}

// matched takes a request out of the waiting ones. It returns false if it has ended
// meanwhile.
func (b *Book[M]) matched(q *Request[M]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.take(q.number) == nil {
		return false
	}
	b.has(q.number)
	return true
}

// has notes that a request which waited has its reply. mu is held.
func (b *Book[M]) has(number uint64) {
	word, bit := place(number)
	if b.last-number < Window {
		b.answered[word] |= bit
	}
	b.counts.Replies++
}

// take takes a request out of the waiting ones, or returns nil if it does not wait. mu is
// held.
func (b *Book[M]) take(number uint64) *Request[M] {
	i, found := slices.BinarySearchFunc(b.waiting, number, func(q *Request[M], number uint64) int {
		return cmp.Compare(q.number, number)
	})
	if !found {
		return nil
	}
	q := b.waiting[i]
	b.waiting = slices.Delete(b.waiting, i, i+1)
	return q
}

// place returns where the bit of a request is.
func place(number uint64) (word int, bit uint64) {
	n := number % Window
	return int(n / 64), 1 << (n % 64)
}

// Counts returns what has come, and how many requests wait.
func (b *Book[M]) Counts() (c Counts, waiting int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.counts, len(b.waiting)
}
