// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"tagbus/bench/internal/load"
)

// sample is what was found for a row, a value a round.
type sample struct{ ns, rate []float64 }

// measure measures the rows of a table, in turn.
func measure(built *programs, t table, rounds int, seconds float64) map[string]sample {
	found := make(map[string]sample)
	for range rounds {
		for _, r := range t.rows {
			ns, rate := once(built, t, r, seconds)
			s := found[r.name]
			found[r.name] = sample{append(s.ns, ns), append(s.rate, rate)}
		}
	}
	return found
}

// process is one that runs.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func start(built *programs, args []string, more ...string) *process {
	cmd := exec.Command(args[0], append(slices.Clone(args[1:]), more...)...)
	cmd.Stderr, cmd.Env = os.Stderr, built.environment
	in, err := cmd.StdinPipe()
	must(err)
	out, err := cmd.StdoutPipe()
	must(err)
	must(cmd.Start())
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	return &process{cmd, in, lines}
}

// read reads a line of JSON.
func (p *process) read(into any) {
	if !p.lines.Scan() {
		log.Fatalf("%s ended", strings.Join(p.cmd.Args, " "))
	}
	must(json.Unmarshal(p.lines.Bytes(), into))
}

// begin lets a publisher begin.
func (p *process) begin() {
	_, err := io.WriteString(p.in, "go\n")
	must(err)
}

// end waits for the end.
func (p *process) end() {
	must(p.in.Close())
	for p.lines.Scan() {
	}
	_ = p.cmd.Wait() // what it has said counts
}

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// used returns the processor time of a process so far.
func (p *process) used() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	must(err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, err := strconv.Atoi(fields[11])
	must(err)
	system, err := strconv.Atoi(fields[12])
	must(err)
	return time.Duration(user+system) * tick
}

// once measures a row once. The start and the end of the processes, which are slow in Python, do not
// count.
func once(built *programs, t table, r row, seconds float64) (ns, rate float64) {
	flags := append(slices.Clone(t.flags), fmt.Sprintf("-seconds=%g", seconds))
	var at struct{ Listen string }
	var server []string
	if r.pub.program == natsProgram {
		s := start(built, built.server)
		defer s.end()
		s.read(&at)
		server = []string{"-addr=" + at.Listen}
	}
	pub := start(built, built.commands[r.pub.program], slices.Concat(flags, r.pub.flags, server, []string{"-role=pub"})...)
	pub.read(&at)
	if strings.HasPrefix(at.Listen, "/") {
		defer os.RemoveAll(at.Listen) //nolint:errcheck // it is temporary
	}
	sub := start(built, built.commands[r.sub.program], slices.Concat(flags, r.sub.flags, []string{"-role=sub", "-addr=" + at.Listen})...)
	if t.of == roundTrip {
		return exchange(t, r, pub, sub), 0
	}
	sub.read(new(struct{ Ready bool }))
	var sent load.PubResult
	var got load.SubResult
	measured := sub
	if t.of == ofPublisher {
		measured = pub
	}
	before := measured.used()
	pub.begin()
	pub.read(&sent)
	if t.of == ofPublisher { // behind it are messages that only say the end
		before = measured.used() - before
	}
	sub.read(&got)
	if t.of == ofSubscriber {
		before = measured.used() - before
	}
	pub.end()
	sub.end()
	if got.Received != sent.Sent || got.Corrupt+got.Disordered > 0 {
		log.Fatalf("%s: %s: sent %d, received %d, corrupt %d, disordered %d", t.name, r.name, sent.Sent, got.Received, got.Corrupt, got.Disordered)
	}
	return float64(before.Nanoseconds()) / float64(sent.Sent), float64(sent.Sent) / float64(sent.EndNS-sent.StartNS) * 1e9
}

// exchange measures the round trips of a pair.
func exchange(t table, r row, pub, sub *process) float64 {
	if strings.HasPrefix(r.pub.program, "tagbus") { // both wait for each other
		pub.begin()
		sub.read(new(struct{ Ready bool }))
	} else {
		sub.read(new(struct{ Ready bool }))
		pub.begin()
	}
	var sent load.PubResult
	pub.read(&sent)
	pub.end()
	_ = sub.cmd.Process.Kill() // that of NATS runs until then
	sub.end()
	if sent.Corrupt > 0 || sent.Sent == 0 {
		log.Fatalf("%s: %s: %d answers are corrupt, of %d", t.name, r.name, sent.Corrupt, sent.Sent)
	}
	return float64(sent.Latency.P50)
}
