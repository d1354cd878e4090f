// SPDX-License-Identifier: Apache-2.0

// Command crowd measures what it costs to look at a bus of many: a thousand publishers and a
// thousand subscribers by default, in one process over loopback.
//
//	go run ./cmd/crowd [--publishers N] [--subscribers N] [--pairs N] [--apart]
//
// With --apart, the publisher that floods and its subscriber are a process of their own that
// has processor 0 for itself, as if on a host of their own. All others, and what looks at
// them, have processor 1.
//
// It prints how long tagbus ls takes, which share of a processor tagbus top and tagbus web
// take, the latter with three viewers, and the rate and the processor time of the bus with
// and without all of them, in turn.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// size is that of the bus.
type size struct {
	publishers, subscribers int
	tags                    int  // of each publisher
	each                    int  // publishers of each subscriber
	first                   int  // number of the first publisher
	flood                   bool // by the first publisher
}

func main() {
	var s size
	flag.IntVar(&s.publishers, "publishers", 1000, "publishers")
	flag.IntVar(&s.subscribers, "subscribers", 1000, "subscribers")
	flag.IntVar(&s.tags, "tags", 100, "tags of each publisher")
	flag.IntVar(&s.each, "each", 3, "publishers of each subscriber")
	pairs := flag.Int("pairs", 5, "runs with and without the watchers")
	apart := flag.Bool("apart", false, "flood from a process with a processor of its own")
	flag.IntVar(&s.first, "first", 0, "number of the first publisher; for the program itself")
	flag.BoolVar(&s.flood, "flood", false, "flood; for the program itself")
	bus := flag.String("bus", "", "be the bus in this folder; for the program itself")
	flag.Parse()
	if *bus != "" {
		must(serve(*bus, s, os.Stdout))
		return
	}
	must(measure(s, *pairs, *apart))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

// measure starts the bus, and prints all figures.
func measure(s size, pairs int, apart bool) error {
	dir, err := os.MkdirTemp("", "crowd")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-o", dir, "./cmd/tagbus")
	build.Dir = ".." // its requirements are not those of this module
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build tagbus: %w", err)
	}
	w := &watchers{tagbus: filepath.Join(dir, "tagbus"), folder: filepath.Join(dir, "bus")}
	s.flood = !apart
	processor := ""
	if apart {
		w.processor, processor = "1", "1"
	}
	b, err := startBus(w.folder, s, processor)
	if err != nil {
		return err
	}
	defer b.stop()
	flood := b
	if apart {
		flood, err = startBus(w.folder, size{publishers: 1, subscribers: 1, tags: s.tags, each: 1, first: s.publishers, flood: true}, "0")
		if err != nil {
			return err
		}
		defer flood.stop()
		go func() {
			for range b.lines {
			}
		}()
	}
	if err := w.list(); err != nil {
		return err
	}
	if err := w.shares(); err != nil {
		return err
	}
	return compare(flood, w, pairs)
}

// process is the one with the bus.
type process struct {
	cmd   *exec.Cmd
	in    io.Closer
	lines chan sample
}

// sample is what the bus has done so far.
type sample struct {
	Messages uint64  `json:"messages"` // of the publisher that floods
	CPU      float64 `json:"cpu_seconds"`
	At       float64 `json:"at_seconds"`
}

// startBus starts the bus of a size.
//
//   - processor: which it has; "" is all.
func startBus(folder string, s size, processor string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := on(processor, self, "--bus", folder, fmt.Sprintf("--first=%d", s.first), fmt.Sprintf("--flood=%t", s.flood), fmt.Sprintf("--publishers=%d", s.publishers),
		fmt.Sprintf("--subscribers=%d", s.subscribers), fmt.Sprintf("--tags=%d", s.tags), fmt.Sprintf("--each=%d", s.each))
	cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &process{cmd: cmd, in: in, lines: make(chan sample, 1)}
	go func() {
		defer close(b.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var x sample
			if json.Unmarshal(lines.Bytes(), &x) == nil {
				b.lines <- x
			}
		}
	}()
	if _, ok := <-b.lines; !ok {
		return nil, fmt.Errorf("the bus did not start: %w", cmd.Wait())
	}
	fmt.Fprintf(os.Stdout, "bus: %d publishers of %d tags, %d subscribers of %d publishers each: up after %.1f s\n",
		s.publishers, s.tags, s.subscribers, s.each, time.Since(begun).Seconds())
	return b, nil
}

// on returns a command that has one processor; "" is all.
func on(processor, program string, args ...string) *exec.Cmd {
	if processor == "" {
		return exec.Command(program, args...)
	}
	return exec.Command("taskset", append([]string{"--cpu-list", processor, program}, args...)...)
}

// rate returns the rate, and the processor time of a million messages, over some samples.
func (b *process) rate(seconds int) (perSecond, cpu float64, err error) {
	<-b.lines // one that is old
	first, ok := <-b.lines
	last := first
	for range seconds {
		last, ok = <-b.lines
	}
	if !ok || last.Messages == first.Messages {
		return 0, 0, fmt.Errorf("the bus stands still")
	}
	n := float64(last.Messages - first.Messages)
	return n / (last.At - first.At), (last.CPU - first.CPU) / n * 1e6, nil
}

func (b *process) stop() {
	_ = b.in.Close()
	go func() {
		for range b.lines {
		}
	}()
	_ = b.cmd.Wait()
}

// compare prints rate and cost of the bus with and without watchers, in turn.
func compare(b *process, w *watchers, pairs int) error {
	const seconds = 5
	var rates, costs []float64
	for i := range pairs {
		rate, cost, err := b.rate(seconds)
		if err != nil {
			return err
		}
		if err := w.start(); err != nil {
			return err
		}
		<-time.After(3 * time.Second) // connections
		watched, dearer, err := b.rate(seconds)
		w.stop()
		if err != nil {
			return err
		}
		fmt.Fprintf(os.Stdout, "pair %d: %.2f M msg/s, %.3f CPU s a million; watched %.2f M msg/s, %.3f\n", i+1, rate/1e6, cost, watched/1e6, dearer)
		rates, costs = append(rates, watched/rate), append(costs, dearer/cost)
		<-time.After(time.Second)
	}
	fmt.Fprintf(os.Stdout, "watched / not watched: rate %.3f, processor time of a message %.3f (medians of %d pairs)\n", median(rates), median(costs), pairs)
	return nil
}

func median(x []float64) float64 {
	slices.Sort(x)
	if len(x) == 0 {
		return 0
	}
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
