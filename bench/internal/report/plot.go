// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strings"

	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
)

// Sizes of the plot, in pixels: two panels side by side.
const (
	plotWidth, plotHeight = 980, 430
	left, top, bottom     = 70, 40, 60
	throughputWidth       = 520
	barsAt                = 660
	barsWidth             = 290
)

// shown are the systems of the plot, with their colours.
var shown = []struct{ system, colour string }{
	{"tagbus", "#d1495b"},
	{"tagbus-batch", "#e8a0a8"},
	{"tagbus-zerocopy", "#f08a5d"},
	{"c-record+cc", "#222222"},
	{"c-block+cc", "#777777"},
	{"gonet", "#9b5de5"},
	{"libzmq", "#00798c"},
	{"zmq4", "#30a5bf"},
	{"nats", "#3c6e47"},
	{"nng", "#b08968"},
}

// point is a median of a system.
type point struct {
	x, y float64
}

// Plot draws throughput by size, and the latency of ping-pong.
func Plot(d Data) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
`, plotWidth, plotHeight)
	throughputPanel(&b, d)
	latencyPanel(&b, d)
	b.WriteString("</svg>\n")
	return b.String()
}

// throughputPanel draws bytes per second over the size, both in logarithms.
func throughputPanel(b *strings.Builder, d Data) {
	const lowX, highX = 5, 20.3 // logarithms to base 2 of bytes
	const lowY, highY = 6, 10.4 // to base 10 of bytes per second
	x := func(size float64) float64 {
		return left + (math.Log2(size)-lowX)/(highX-lowX)*throughputWidth
	}
	y := func(rate float64) float64 {
		return plotHeight - bottom - (math.Log10(rate)-lowY)/(highY-lowY)*(plotHeight-top-bottom)
	}
	text(b, left, 20, "start", "Throughput, 1 publisher to 1 subscriber: payload per second")
	for decade := float64(lowY); decade <= highY; decade++ {
		rate := math.Pow(10, decade)
		line(b, left, y(rate), left+throughputWidth, y(rate), "#dddddd")
		text(b, left-6, y(rate)+4, "end", rateLabel(rate))
	}
	for _, s := range throughputs() {
		line(b, x(float64(s.Size)), top, x(float64(s.Size)), plotHeight-bottom, "#eeeeee")
		text(b, x(float64(s.Size)), plotHeight-bottom+16, "middle", strings.TrimPrefix(s.Name, "throughput/"))
	}
	legend := 0
	for _, system := range shown {
		var points []string
		for _, p := range curve(d, system.system) {
			at := fmt.Sprintf("%.1f,%.1f", x(p.x), y(p.y))
			points = append(points, at)
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(p.x), y(p.y), system.colour)
		}
		if points == nil {
			continue
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), system.colour)
		column, row := legend%5, legend/5
		legend++
		text(b, left+float64(column)*128, plotHeight-22+float64(row)*15, "start", system.system, system.colour)
	}
}

func rateLabel(rate float64) string {
	if rate >= 1e9 {
		return fmt.Sprintf("%.0f GB/s", rate/1e9)
	}
	return fmt.Sprintf("%.0f MB/s", rate/1e6)
}

func throughputs() []scenario.Scenario {
	var found []scenario.Scenario
	for _, s := range scenario.All() {
		if s.Group == "Throughput" {
			found = append(found, s)
		}
	}
	return found
}

// curve is the payload per second of a system, by size.
func curve(d Data, system string) []point {
	var points []point
	for _, s := range throughputs() {
		records := d.of(s.Name, system)
		rate, _, _ := middle(records, func(r run.Record) float64 { return float64(r.Received) * float64(s.Size) / r.Seconds })
		if rate > 0 {
			points = append(points, point{float64(s.Size), rate})
		}
	}
	return points
}

// latencyPanel draws a bar for the median round trip of each system.
func latencyPanel(b *strings.Builder, d Data) {
	text(b, barsAt, 20, "start", "Round trip of 64 B through a channel, µs (p50, p99)")
	type bar struct {
		system   string
		p50, p99 float64
	}
	var bars []bar
	longest := 0.0
	for _, name := range []string{"pingpong/64B/channel"} {
		s, _ := scenario.Named(name)
		for _, system := range s.Rows {
			records := d.of(s.Name, system)
			p50, _, _ := middle(records, func(r run.Record) float64 { return float64(r.Latency.P50) / 1e3 })
			p99, _, _ := middle(records, func(r run.Record) float64 { return float64(r.Latency.P99) / 1e3 })
			if p50 > 0 {
				bars = append(bars, bar{system, p50, p99})
				longest = max(longest, p50)
			}
		}
	}
	const step = 32
	for i, r := range bars {
		at := float64(top + i*step)
		colour := "#8d99ae"
		if strings.HasPrefix(r.system, "tagbus") {
			colour = "#d1495b"
		}
		fmt.Fprintf(b, `<rect x="%d" y="%.0f" width="%.1f" height="12" fill="%s"/>`+"\n", barsAt, at+13, r.p50/longest*(barsWidth-90), colour)
		text(b, barsAt, at+10, "start", r.system)
		text(b, barsAt+r.p50/longest*(barsWidth-90)+4, at+23, "start", fmt.Sprintf("%.1f, %.1f", r.p50, r.p99))
	}
}

func line(b *strings.Builder, x1, y1, x2, y2 float64, colour string) {
	fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`+"\n", x1, y1, x2, y2, colour)
}

// text writes s at a place; a colour may follow.
func text(b *strings.Builder, x, y float64, anchor, s string, colour ...string) {
	fill := "#333333"
	if len(colour) > 0 {
		fill = colour[0]
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", x, y, anchor, fill, s)
}
