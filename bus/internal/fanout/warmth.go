// SPDX-License-Identifier: Apache-2.0

package fanout

// Memory that a subscriber within the host has read is in the cache of its processor. To clear it
// first takes it over without reading it (arena.Warm). Whether that makes filling quicker depends on the
// processor and on the messages: on one machine it saves a fifth for messages of 40 B, and costs a third for those
// of 64 KiB (adr/0042). So it is measured.
const (
	trialEvery = 16 // of so many runs one is filled the other way
	warmGain   = 16 // clearing must save one part of so many
	meanOf     = 8  // about so many runs
)

// warmth decides whether memory is cleared before it is filled. Its user guards it.
type warmth struct {
	cost [2]int64 // nanoseconds of filling bulkUnit bytes lately, without clearing and with it; 0: not known
	runs uint32
}

// filling is memory that is being filled. The zero value is not measured.
type filling struct {
	way   int   // in warmth.cost
	began int64 // in nanoseconds of Fanout.now; 0: it is not measured
}

// clears reports whether the memory is to be cleared.
func (f filling) clears() bool { return f.way == 1 }

// begin decides about memory that is going to be filled.
func (w *warmth) begin(now int64) filling {
	f := filling{way: w.better(), began: now}
	if w.runs++; w.runs%trialEvery == 0 {
		f.way = 1 - f.way
	}
	return f
}

// better returns the way that is used. Where clearing saves nothing it is not worth its time.
func (w *warmth) better() int {
	if w.cost[1] > 0 && w.cost[1] < w.cost[0]-w.cost[0]/warmGain {
		return 1
	}
	return 0
}

// end notes how long it took until so many bytes were filled. A goroutine may have lost its processor meanwhile:
// so the time counts for twice the usual one at most, and a little more: the mean of next to nothing grows, too.
func (w *warmth) end(f filling, now int64, bytes int) {
	if f.began == 0 || bytes == 0 {
		return
	}
	took := max(1, (now-f.began)*bulkUnit/int64(bytes))
	cost := &w.cost[f.way]
	if *cost == 0 {
		*cost = took
		return
	}
	*cost += (min(took, 2**cost+meanOf) - *cost) / meanOf
}
