// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
)

// table has what was measured, by work and round.
type table struct {
	client          string
	bridge, theirs  [][]result
	direct, through []latency
	loads           []string // of the machine
}

func newTable(client string) *table {
	return &table{client: client, bridge: make([][]result, len(works)), theirs: make([][]result, len(works))}
}

// median of what f returns of each.
func median[T any](all []T, f func(T) float64) float64 {
	var some []float64
	for _, one := range all {
		some = append(some, f(one))
	}
	slices.Sort(some)
	if len(some)%2 == 0 {
		return (some[len(some)/2-1] + some[len(some)/2]) / 2
	}
	return some[len(some)/2]
}

// print prints Markdown.
func (t *table) print(to io.Writer) {
	fmt.Fprintf(to, "%d processors, load %v, medians of %d rounds\n\n", runtime.NumCPU(), t.loads, len(t.direct))
	fmt.Fprintf(to, "| messages | tagbus-bridge | records | %s | ratio | goal | processor time a message: bridge, publisher; %[1]s | of the server: bridge; %[1]s |\n|---|---|---|---|---|---|---|---|\n", t.client)
	for i, w := range works {
		ours, theirs := t.bridge[i], t.theirs[w.client]
		var ratios []float64
		for round := range ours {
			ratios = append(ratios, ours[round].rate/theirs[round].rate)
		}
		goal := ""
		if w.goal > 0 {
			goal = fmt.Sprintf("%gx", w.goal)
		}
		fmt.Fprintf(to, "| %s | %.0f/s | %.0f/s | %.0f/s | %.2fx (%.2f to %.2f) | %s | %.2f, %.2f; %.2f µs | %.2f; %.2f µs |\n", w.name,
			median(ours, rate), median(ours, func(r result) float64 { return r.records }), median(theirs, rate),
			median(ratios, func(r float64) float64 { return r }), slices.Min(ratios), slices.Max(ratios), goal,
			median(ours, writer), median(ours, publisher), median(theirs, writer), median(ours, server), median(theirs, server))
	}
	var added []float64
	for round := range t.direct {
		added = append(added, t.through[round].p50-t.direct[round].p50)
	}
	fmt.Fprintf(to, "\nLatency until a reader of the log has a message, %d B, %d a second: p50 %.0f µs over the bus and the bridge, %.0f µs with %s; added %.0f µs; p99 %.0f and %.0f µs\n",
		latencySize, latencyRate, median(t.through, p50), median(t.direct, p50), t.client, median(added, func(r float64) float64 { return r }),
		median(t.through, p99), median(t.direct, p99))
}

func rate(r result) float64      { return r.rate }
func writer(r result) float64    { return r.writer }
func publisher(r result) float64 { return r.publisher }
func server(r result) float64    { return r.server }
func p50(l latency) float64      { return l.p50 }
func p99(l latency) float64      { return l.p99 }
