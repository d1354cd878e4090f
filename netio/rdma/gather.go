// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"math/bits"

	"tagbus/netio"
	"tagbus/netio/rdma/internal/fi"
)

const (
	minGathered = 64 << 10

	// keepGathered is how much memory is kept for the next messages.
	keepGathered = 16 << 20
)

// gathered is registered memory for a message that lies in more pieces than the
// device takes.
type gathered struct {
	mem []byte
	mr  *fi.MR
}

// gatherer keeps such memory of a device: free blocks by size, of which each is a
// power of two. Only in a step.
type gatherer struct {
	device *device
	free   [32][]*gathered // by the power of two
	bytes  int             // of all in free
	closed bool            // nothing is kept any more
}

func gatherClass(n int) int { return bits.Len(uint(max(n, minGathered) - 1)) }

// get returns memory of at least n bytes. Errors: the system's (no memory), and
// *fi.Error.
func (g *gatherer) get(n int) (*gathered, error) {
	class := gatherClass(n)
	if last := len(g.free[class]) - 1; last >= 0 {
		block := g.free[class][last]
		g.free[class] = g.free[class][:last]
		g.bytes -= len(block.mem)
		return block, nil
	}
	mem, err := netio.AllocRegion(1 << class)
	if err != nil {
		return nil, err
	}
	mr, err := g.device.registerMemory(mem)
	if err != nil {
		return nil, errors.Join(err, netio.FreeRegion(mem))
	}
	return &gathered{mem, mr}, nil
}

// put takes memory back, which the device does not use any more.
func (g *gatherer) put(block *gathered) {
	if g.closed || g.bytes+len(block.mem) > keepGathered {
		if err := block.close(); err != nil {
			g.device.backend.warn("cannot close a registration", "device", g.device.name, "err", err)
		}
		return
	}
	class := gatherClass(len(block.mem))
	g.free[class] = append(g.free[class], block)
	g.bytes += len(block.mem)
}

// close frees what is free. A block that comes back later is freed then.
func (g *gatherer) close() error {
	g.closed = true
	var errs []error
	for _, blocks := range g.free {
		for _, block := range blocks {
			errs = append(errs, block.close())
		}
	}
	g.free, g.bytes = [32][]*gathered{}, 0
	return errors.Join(errs...)
}

func (g *gathered) close() error { return errors.Join(g.mr.Close(), netio.FreeRegion(g.mem)) }

// gather copies the data of entry i into one piece of memory if the device would
// not take it as it is. Errors: as gatherer.get.
func (e *endpoint) gather(i uint64) error {
	sent := e.queue.at(i)
	if len(sent.pieces) <= MaxPieces || sent.gathered != nil { // or it was posted before, without success
		return nil
	}
	block, err := e.device.gatherer.get(sent.bytes)
	if err != nil {
		return err
	}
	n := 0
	for _, piece := range sent.pieces {
		n += copy(block.mem[n:], piece)
	}
	sent.gathered = block
	return nil
}
