// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tagbus/cmd/internal/emulate"
)

const (
	leastPing = 8       // bytes: its number
	maxPing   = 1 << 20 // larger messages are not sent back
)

// longest is the longest time that is told from longer ones.
const longest = time.Minute

// newHistogram returns one of nanoseconds with three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(longest), 3) }

func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, 1), longest))) // it is in the range
}

// pings measures round trips of messages, one at a time.
type pings struct {
	send   func([]byte) error
	sizes  emulate.Sizes
	random *rand.Rand
	buffer []byte
	space  []byte

	mu      sync.Mutex
	number  uint64
	message []byte // under way; nil: none
	began   time.Time
	until   time.Time
	done    chan error // has the end of the measurement

	bus, tcp           *hdrhistogram.Histogram // of this round
	allOfBus, allOfTCP *hdrhistogram.Histogram
}

func newPings(sizes emulate.Sizes, send func([]byte) error) *pings {
	sizes.Min, sizes.Max = min(max(sizes.Min, leastPing), maxPing), min(max(sizes.Max, leastPing), maxPing)
	p := &pings{
		send: send, sizes: sizes, random: rand.New(rand.NewPCG(3, 0)), buffer: make([]byte, sizes.Max), space: make([]byte, sizes.Max),
		done: make(chan error, 1), bus: newHistogram(), tcp: newHistogram(), allOfBus: newHistogram(), allOfTCP: newHistogram(),
	}
	for i := range p.buffer {
		p.buffer[i] = byte(p.random.Uint32())
	}
	return p
}

// make returns the next message.
func (p *pings) make() []byte {
	size := int(p.sizes.Min)
	if p.sizes.Max > p.sizes.Min {
		size += p.random.IntN(int(p.sizes.Max-p.sizes.Min) + 1)
	}
	p.number++
	binary.LittleEndian.PutUint64(p.buffer, p.number)
	return p.buffer[:size]
}

// start begins a measurement that lasts until a time: each message is sent when the one
// before is back.
func (p *pings) start(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.until = until
	p.bus.Reset()
	p.tcp.Reset()
	p.sendNext()
}

func (p *pings) sendNext() {
	p.message, p.began = p.make(), time.Now()
	if err := p.send(p.message); err != nil {
		p.end(err)
	}
}

func (p *pings) end(err error) {
	p.message = nil
	p.done <- err
}

// fail ends the measurement that goes on with an error; nil does not.
func (p *pings) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && p.message != nil {
		p.end(err)
	}
}

// errTrip is a message that came back changed.
var errTrip = errors.New("what came back is not what was sent")

// back takes a message that has come back. On the loop.
func (p *pings) back(data []byte) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.message == nil: // of another run
	case !bytes.Equal(data, p.message):
		if len(data) >= leastPing && binary.LittleEndian.Uint64(data) == p.number {
			p.end(errTrip)
		} // else it is another's
	default:
		record(p.bus, now.Sub(p.began))
		record(p.allOfBus, now.Sub(p.began))
		if now.Before(p.until) {
			p.sendNext()
		} else {
			p.end(nil)
		}
	}
}

// wait waits until the measurement is over.
func (p *pings) wait(ctx context.Context) error {
	p.mu.Lock()
	limit := time.NewTimer(time.Until(p.until) + answerTime)
	p.mu.Unlock()
	defer limit.Stop()
	select {
	case err := <-p.done:
		return err
	case <-limit.C:
		return fmt.Errorf("round trips: a message has not come back in %v", answerTime)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// plain measures the same by plain TCP until a time.
func (p *pings) plain(c *plainClient, until time.Time) error {
	for {
		took, err := c.trip(p.make(), p.space)
		if err != nil {
			return err
		}
		record(p.tcp, took)
		record(p.allOfTCP, took)
		if !time.Now().Before(until) {
			return nil
		}
	}
}
