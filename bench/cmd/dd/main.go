// SPDX-License-Identifier: Apache-2.0

// Command dd is a yardstick of a recorder: its subscriber writes the messages of a
// benchmark to a file, a megabyte at a time, and makes them itself. There is no bus. Its
// publisher only says when to begin.
package main

import (
	"os"

	"tagbus/bench/internal/load"
)

const (
	memoryDisk = "/dev/shm"
	blockBytes = 1 << 20
)

func main() {
	o := load.Parse()
	if o.Role == load.RolePub {
		load.Command()
	} else {
		write(o)
	}
}

// write writes for a time, and reports.
func write(o load.Options) {
	file, err := os.CreateTemp(memoryDisk, "bench")
	load.Must(err)
	load.Must(os.Remove(file.Name())) // it lives until this process ends, however that does
	var block []byte
	for len(block) < blockBytes {
		block = append(block, load.NewMessage(o.Size)...)
	}
	done := load.Commanded(o)
	written := uint64(0)
	for until := load.Now() + int64(o.Seconds*1e9); load.Now() < until; {
		for at := 0; at < len(block); at += o.Size {
			load.Stamp(block[at:], written, 0, 0)
			written++
		}
		_, err := file.Write(block)
		load.Must(err)
	}
	last := load.Now()
	done(written)
	load.SubResult{
		Role: load.RoleSub, Received: written, LastNS: last,
		Extra: map[string]float64{load.FileBytes: float64(o.Size)},
	}.Report()
	select {} // until the runner ends it
}
