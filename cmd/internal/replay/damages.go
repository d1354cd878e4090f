// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"errors"
	"sync"

	"tagbus/recording"
)

// damages are the blocks that cannot be read, each once, however often it is read: by the look, and by each pass. The zero value has none.
//
// Threads: any.
type damages struct {
	mu    sync.Mutex
	known map[damagedBlock]struct{}
}

// damagedBlock is the place of a block that cannot be read.
type damagedBlock struct {
	file   string
	offset int64
}

// add notes a damage, and returns how many there are. fresh: it was not known.
func (d *damages) add(err error) (n int, fresh bool) {
	place := damagedBlock{file: err.Error(), offset: -1}
	if damage := (*recording.DamageError)(nil); errors.As(err, &damage) {
		place = damagedBlock{damage.File, damage.Offset}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = make(map[damagedBlock]struct{})
	}
	before := len(d.known)
	d.known[place] = struct{}{}
	return len(d.known), len(d.known) > before
}

func (d *damages) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.known)
}
