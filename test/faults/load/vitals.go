// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"context"
	"runtime"
	"time"

	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
)

// vitalsEvery is how often a program says how it is.
const vitalsEvery = time.Second

// vitals writes down how the program is until ctx ends, if it is to.
//
// Errors: those of the record.
func (c *common) vitals(ctx context.Context) error {
	if !c.says {
		return nil
	}
	slots, err := record.Create[check.Vitals](c.record+".vitals", 1)
	if err != nil {
		return err
	}
	go func() {
		for tick := time.NewTicker(vitalsEvery); ; {
			slots[0].Goroutines = uint64(runtime.NumGoroutine())
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	return nil
}
