// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"context"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// rateTime is how long rates are looked for.
const rateTime = time.Second

// Rated is Look for what shows rates: if no row has an answer from before, it looks again
// a second later.
//
//   - Blocks: as Look, or for two looks and that second.
func (w *Watcher) Rated(ctx context.Context, keep func(*directory.Entry) bool, q state.Question, patience time.Duration) Overview {
	o := w.Look(ctx, keep, q, patience)
	if slices.ContainsFunc(o.Rows, func(r Row) bool { return r.Before != nil }) ||
		!slices.ContainsFunc(o.Rows, func(r Row) bool { return r.State != nil }) {
		return o
	}
	timer := time.NewTimer(rateTime)
	defer timer.Stop()
	select {
	case <-timer.C:
		return w.Look(ctx, keep, q, patience)
	case <-ctx.Done():
		return o
	}
}
