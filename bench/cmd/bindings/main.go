// SPDX-License-Identifier: Apache-2.0

// Command bindings measures the C library against Go: processor time a message of the process that
// matters, in rounds in which all take turns, and prints medians and their ratios.
//
//	make lib && cd bench && go run ./cmd/bindings [-rounds 5] [-seconds 2] [-only REGEXP]
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// pair is a publisher and a subscriber.
type pair struct {
	name     string
	pub, sub []string // program and its flags
	of       string   // whose processor time counts: pub, sub, or rtt for the median round trip
}

// row is a table: the first pair is that of Go.
type row struct {
	name  string
	flags []string
	pairs []pair
	goal  map[string]float64
}

func rows(goProgram, cProgram string) []row {
	flood := []string{goProgram, "-way=batch"}
	var all []row
	for _, size := range []int{40, 1024, 65536} {
		loopGoal := 1.3
		if size == 65536 {
			loopGoal = 1.5
		}
		s := "-size=" + strconv.Itoa(size)
		all = append(all,
			row{fmt.Sprintf("receive by batch, %d B", size), []string{s}, []pair{
				{"Go SubscribeBatch", flood, []string{goProgram, "-receive=batch"}, "sub"},
				{"C on the loop", flood, []string{cProgram, "--way=loop"}, "sub"},
			}, map[string]float64{"C on the loop": loopGoal}},
			row{fmt.Sprintf("receive by pull, %d B", size), []string{s}, []pair{
				{"Go Messages", flood, []string{goProgram, "-receive=messages"}, "sub"},
				{"C pull", flood, []string{cProgram, "--way=pull"}, "sub"},
				{"C thread", flood, []string{cProgram, "--way=thread"}, "sub"},
			}, map[string]float64{"C pull": 1.1}})
	}
	sink := []string{goProgram, "-receive=batch"}
	all = append(all,
		row{"publish batches of 64, 40 B", []string{"-size=40"}, []pair{
			{"Go PublishBatch", flood, sink, "pub"}, {"C batch", []string{cProgram, "--way=batch"}, sink, "pub"},
		}, map[string]float64{"C batch": 1.3}},
		row{"publish one by one, 40 B", []string{"-size=40"}, []pair{
			{"Go Publish", []string{goProgram}, sink, "pub"},
			{"C publish", []string{cProgram}, sink, "pub"},
			{"C writer", []string{cProgram, "--way=writer"}, sink, "pub"},
		}, map[string]float64{"C publish": 3, "C writer": 1.3}},
		row{"round trip, 40 B", []string{"-size=40", "-work=pingpong"}, []pair{
			{"Go", []string{goProgram, "-channel"}, []string{goProgram}, "rtt"},
			{"C asks, Go answers", []string{cProgram}, []string{goProgram}, "rtt"},
			{"C asks, C answers", []string{cProgram}, []string{cProgram}, "rtt"},
		}, map[string]float64{"C asks, Go answers": 1.1}})
	return all
}

func main() {
	rounds := flag.Int("rounds", 5, "of all")
	seconds := flag.Float64("seconds", 2, "of each measurement")
	only := flag.String("only", "", "rows, a regular expression")
	library := flag.String("lib", "../bin/lib", "the folder of libtagbus.so")
	flag.Parse()
	chosen, err := regexp.Compile(*only)
	must(err)
	goProgram, cProgram := build(*library)
	for _, r := range rows(goProgram, cProgram) {
		if chosen.MatchString(r.name) {
			measure(r, *rounds, *seconds)
		}
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// build builds both programs.
func build(library string) (goProgram, cProgram string) {
	folder, err := os.MkdirTemp("", "bindings")
	must(err)
	library, err = filepath.Abs(library)
	must(err)
	goProgram, cProgram = filepath.Join(folder, "go"), filepath.Join(folder, "c")
	c := exec.Command("cc", "-std=gnu11", "-O2", "-Wall", "-Wno-unused-function", "-I../bindings/c", "-o", cProgram, "c/tagbus.c",
		"-L"+library, "-ltagbus", "-Wl,-rpath,"+library, "-lpthread")
	g := exec.Command("go", "build", "-o", goProgram, "./cmd/tagbus")
	for _, cmd := range []*exec.Cmd{c, g} {
		cmd.Stderr = os.Stderr
		must(cmd.Run())
	}
	return goProgram, cProgram
}

// measure prints the medians of a row.
func measure(r row, rounds int, seconds float64) {
	found := make(map[string][]float64)
	rates := make(map[string][]float64)
	for range rounds {
		for _, p := range r.pairs {
			ns, rate := run(p, r.flags, seconds)
			found[p.name] = append(found[p.name], ns)
			rates[p.name] = append(rates[p.name], rate)
		}
	}
	base := median(found[r.pairs[0].name])
	fmt.Fprintf(os.Stdout, "%s\n", r.name)
	for i, p := range r.pairs {
		ns := median(found[p.name])
		fmt.Fprintf(os.Stdout, "  %-22s %10.1f ns", p.name, ns)
		if p.of != "rtt" {
			fmt.Fprintf(os.Stdout, "  %7.2f M/s", median(rates[p.name])/1e6)
		}
		if i > 0 {
			fmt.Fprintf(os.Stdout, "  ratio %.2f", ns/base)
			if goal := r.goal[p.name]; goal > 0 {
				fmt.Fprintf(os.Stdout, " (goal %.1f)", goal)
			}
		}
		fmt.Fprintln(os.Stdout)
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// program is one that runs.
type program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func start(args []string, more ...string) *program {
	cmd := exec.Command(args[0], append(slices.Clone(args[1:]), more...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(err)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	return &program{cmd, in, lines}
}

// read reads a line of JSON.
func (p *program) read(into any) {
	if !p.lines.Scan() {
		log.Fatalf("%s ended", strings.Join(p.cmd.Args, " "))
	}
	must(json.Unmarshal(p.lines.Bytes(), into))
}

// end waits for the end, and returns the processor time.
func (p *program) end() time.Duration {
	must(p.in.Close())
	for p.lines.Scan() {
	}
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// run measures a pair once.
func run(p pair, flags []string, seconds float64) (ns, rate float64) {
	flags = append(slices.Clone(flags), fmt.Sprintf("-seconds=%g", seconds))
	pub := start(p.pub, append(flags, "-role=pub")...)
	var at struct{ Listen string }
	pub.read(&at)
	defer os.RemoveAll(at.Listen) //nolint:errcheck // it is temporary
	sub := start(p.sub, append(flags, "-role=sub", "-addr="+at.Listen)...)
	if p.of == "rtt" {
		_, err := io.WriteString(pub.in, "go\n") // both wait for each other
		must(err)
	}
	sub.read(new(struct{ Ready bool }))
	if p.of != "rtt" {
		_, err := io.WriteString(pub.in, "go\n")
		must(err)
	}
	var sent struct {
		Sent    float64
		Start   float64 `json:"start_ns"`
		End     float64 `json:"end_ns"`
		Corrupt float64
		P50     float64 `json:"p50_ns"`
		Latency json.RawMessage
	}
	pub.read(&sent)
	if p.of == "rtt" {
		pub.end()
		sub.end()
		return (sent.End - sent.Start) / sent.Sent, 0
	}
	var got struct{ Received, Corrupt, Disordered float64 }
	sub.read(&got)
	if got.Received != sent.Sent || got.Corrupt+got.Disordered > 0 {
		log.Fatalf("%s: sent %v, received %v, corrupt %v, disordered %v", p.name, sent.Sent, got.Received, got.Corrupt, got.Disordered)
	}
	pubTime, subTime := pub.end(), sub.end()
	if p.of == "pub" {
		subTime = pubTime
	}
	return float64(subTime.Nanoseconds()) / sent.Sent, sent.Sent / (sent.End - sent.Start) * 1e9
}
