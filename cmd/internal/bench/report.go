// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
)

// round is what one round has found.
type round struct {
	Round      int     `json:"round"`
	Messages   uint64  `json:"messages"`
	Bytes      uint64  `json:"bytes"` // payload
	Seconds    float64 `json:"seconds"`
	TCPSeconds float64 `json:"tcp_seconds"` // of as many bytes

	Trips      int64   `json:"trips"`
	TripP50    float64 `json:"trip_p50_seconds"`
	TripP99    float64 `json:"trip_p99_seconds"`
	TCPTripP50 float64 `json:"tcp_trip_p50_seconds"`
	TCPTripP99 float64 `json:"tcp_trip_p99_seconds"`

	RunCPU   float64 `json:"run_cpu_seconds"` // while messages were published
	ServeCPU float64 `json:"serve_cpu_seconds"`

	answer answer
}

// answered notes what the serving side has said.
func (r *round) answered(a answer, cpu float64) { r.answer, r.RunCPU, r.ServeCPU = a, cpu, a.CPU }

// trips notes the round trips.
func (r *round) trips(p *pings) {
	r.Trips = p.bus.TotalCount()
	r.TripP50, r.TripP99 = quantile(p.bus, 50), quantile(p.bus, 99)
	r.TCPTripP50, r.TCPTripP99 = quantile(p.tcp, 50), quantile(p.tcp, 99)
}

func quantile(h *hdrhistogram.Histogram, percent float64) float64 {
	return time.Duration(h.ValueAtPercentile(percent)).Seconds()
}

func (r *round) rate() float64     { return over(float64(r.Messages), r.Seconds) }
func (r *round) byteRate() float64 { return over(float64(r.Bytes), r.Seconds) }
func (r *round) tcpRate() float64  { return over(float64(r.Bytes), r.TCPSeconds) }

// over returns a/b, or 0 if b is.
func over(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// trips are the round trips of a whole run.
type trips struct {
	Messages int64   `json:"messages"`
	P50      float64 `json:"p50_seconds"`
	P90      float64 `json:"p90_seconds"`
	P99      float64 `json:"p99_seconds"`
	P999     float64 `json:"p999_seconds"`
	Max      float64 `json:"max_seconds"`
}

func tripsOf(h *hdrhistogram.Histogram) trips {
	return trips{h.TotalCount(), quantile(h, 50), quantile(h, 90), quantile(h, 99), quantile(h, 99.9), time.Duration(h.Max()).Seconds()}
}

// String returns the quantiles for people.
func (t trips) String() string {
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, p99.9 %s, max %s", seconds(t.P50), seconds(t.P90), seconds(t.P99), seconds(t.P999), seconds(t.Max))
}

// seconds returns a time in microseconds, or in a larger unit.
func seconds(s float64) string {
	if s < 1e-3 {
		return fmt.Sprintf("%.1f µs", s*1e6)
	}
	return units.FormatDuration(time.Duration(s * float64(time.Second)))
}

// summary is what all rounds together have found. Rates and ratios are medians.
type summary struct {
	Program           string  `json:"program"`
	Peer              string  `json:"peer"` // instance of the serving side
	Rounds            int     `json:"rounds"`
	Messages          uint64  `json:"messages"`
	Bytes             uint64  `json:"bytes"`
	MessagesPerSecond float64 `json:"messages_per_second"`
	BytesPerSecond    float64 `json:"bytes_per_second"`
	TCPBytesPerSecond float64 `json:"tcp_bytes_per_second"`
	Ratio             float64 `json:"ratio"`      // of bytes a second to plain TCP; says nothing with --rate
	TripRatio         float64 `json:"trip_ratio"` // of the p50 of round trips to plain TCP
	UnderLoad         bool    `json:"under_load"` // round trips were measured while messages were published
	Trips             trips   `json:"trips"`
	TCPTrips          trips   `json:"tcp_trips"`
	RunCPU            float64 `json:"run_cpu_seconds_per_million"`
	ServeCPU          float64 `json:"serve_cpu_seconds_per_million"`
	Lost              uint64  `json:"lost"`
	Missing           uint64  `json:"missing"` // of those that have not arrived, what the bus has not reported
	Corrupt           uint64  `json:"corrupt"`
	Duplicates        uint64  `json:"duplicates"`
}

// report prints what a run finds.
type report struct {
	cmd    *Command
	out    io.Writer
	json   bool
	peer   bus.Peer
	rounds []round
}

func newReport(c *Command, e *tool.Env, peer bus.Peer) *report {
	return &report{cmd: c, out: e.Out, json: e.JSON, peer: peer}
}

const (
	titles = "ROUND       MSG/S       MB/S   TCP MB/S  RATIO   TRIP p50   TRIP p99    TCP p50  RATIO\n"
	row    = "%5d %11s %10.1f %10.1f %6s %10s %10s %10s %6.2f\n"
)

// head prints what is measured.
func (r *report) head() error {
	if r.json {
		return nil
	}
	how := "as many as go through"
	if c := r.cmd; c.Rate > 0 {
		how = units.FormatRate(float64(c.Rate))
		if c.Burst > 1 {
			how += fmt.Sprintf(" in bursts of %d", c.Burst)
		}
	}
	size := r.cmd.Size.Max.String()
	if r.cmd.Size.Min != r.cmd.Size.Max {
		size = fmt.Sprintf("%v to %s", r.cmd.Size.Min, size)
	}
	_, err := fmt.Fprintf(r.out, "messages of %s to %s, %s, to %v\n\n"+titles, size, units.FormatNumber(r.cmd.TagCount, "tag"), how, &r.peer)
	return err
}

// add prints a round.
func (r *report) add(got round) error {
	r.rounds = append(r.rounds, got)
	if r.json {
		return cli.PrintJSON(r.out, got)
	}
	_, err := fmt.Fprintf(r.out, row, got.Round, units.FormatCount(uint64(got.rate())), got.byteRate()/1e6, got.tcpRate()/1e6, r.ratio(got.byteRate(), got.tcpRate()),
		seconds(got.TripP50), seconds(got.TripP99), seconds(got.TCPTripP50), over(got.TripP50, got.TCPTripP50))
	return err
}

// ratio returns that to plain TCP, or "-" where the rate is one that was asked for.
func (r *report) ratio(bus, tcp float64) string {
	if r.cmd.Rate > 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", over(bus, tcp))
}

// kept is the share of a rate from which on it is kept: the time of a round has that in which the last messages arrive.
const kept = 0.95

// end prints what all rounds have found.
func (r *report) end(p *pings) error {
	s := r.summary()
	s.Trips, s.TCPTrips = tripsOf(p.allOfBus), tripsOf(p.allOfTCP)
	if r.json {
		return cli.PrintJSON(r.out, s)
	}
	when, ratio := "without load", fmt.Sprintf(": %.2f of plain TCP, %s", s.Ratio, units.FormatByteRate(s.TCPBytesPerSecond))
	if s.UnderLoad {
		asked := "as asked for"
		if s.MessagesPerSecond < kept*float64(r.cmd.Rate) {
			asked = fmt.Sprintf("no more goes through of the %s that were asked for", units.FormatRate(float64(r.cmd.Rate)))
		}
		when, ratio = "under this load", fmt.Sprintf(", %s; plain TCP %s", asked, units.FormatByteRate(s.TCPBytesPerSecond))
	}
	_, err := fmt.Fprintf(r.out, `
throughput  %s, %s%s (medians)
round trip  %s (%s, %s)
plain TCP   %s (%s, without load)
ratio       %.2f times the p50 of plain TCP (median)
processor   %.2f s for a million messages here, %.2f s at the serving side
verified    %s: %s lost, %s missing, %s corrupt, %s duplicates
`, units.FormatRate(s.MessagesPerSecond), units.FormatByteRate(s.BytesPerSecond), ratio,
		s.Trips, units.FormatNumber(uint64(s.Trips.Messages), "message"), when,
		s.TCPTrips, units.FormatNumber(uint64(s.TCPTrips.Messages), "message"),
		s.TripRatio, s.RunCPU, s.ServeCPU,
		units.FormatNumber(s.Messages, "message"), units.FormatCount(s.Lost), units.FormatCount(s.Missing), units.FormatCount(s.Corrupt), units.FormatCount(s.Duplicates))
	return err
}

// summary returns all but the round trips.
func (r *report) summary() summary {
	s := summary{Program: name, Peer: r.peer.Instance, Rounds: len(r.rounds), UnderLoad: r.cmd.Rate > 0}
	median := func(of func(*round) float64) float64 { return r.median(of) }
	s.MessagesPerSecond, s.BytesPerSecond = median((*round).rate), median((*round).byteRate)
	s.TCPBytesPerSecond = median((*round).tcpRate)
	s.Ratio = median(func(g *round) float64 { return over(g.byteRate(), g.tcpRate()) })
	s.TripRatio = median(func(g *round) float64 { return over(g.TripP50, g.TCPTripP50) })
	s.RunCPU = median(func(g *round) float64 { return over(g.RunCPU*1e6, float64(g.Messages)) })
	s.ServeCPU = median(func(g *round) float64 { return over(g.ServeCPU*1e6, float64(g.Messages)) })
	for i := range r.rounds {
		g := &r.rounds[i]
		s.Messages += g.Messages
		s.Bytes += g.Bytes
		s.Missing += g.Messages - min(g.Messages, g.answer.Messages)
		// These are counted for the whole session.
		s.Lost, s.Corrupt, s.Duplicates = g.answer.Lost, g.answer.Corrupt, g.answer.Duplicates
	}
	s.Missing -= min(s.Missing, s.Lost)
	if n := len(r.rounds); n > 0 {
		s.Missing = max(s.Missing, r.rounds[n-1].answer.Missing)
	}
	return s
}

// median returns the median of a figure of the rounds.
func (r *report) median(of func(*round) float64) float64 {
	var all []float64
	for i := range r.rounds {
		all = append(all, of(&r.rounds[i]))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// verdict returns what makes a run fail.
func (r *report) verdict() error {
	s := r.summary()
	if s.Lost+s.Missing+s.Corrupt+s.Duplicates == 0 {
		return nil
	}
	return fmt.Errorf("of %s: %d lost, %d missing, %d corrupt, %d duplicates", units.FormatNumber(s.Messages, "message"), s.Lost, s.Missing, s.Corrupt, s.Duplicates)
}
