// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tagbus/bench/internal/scenario"
)

// Names of the files of the document.
const (
	documentFile = "benchmarks.md"
	plotFile     = "benchmarks.svg"
	dataFile     = "benchmarks.jsonl"
)

// WriteDocument writes the document, its plot and the raw data into a folder.
func WriteDocument(folder string, d Data) error {
	raw, err := lines(d)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(folder, documentFile), []byte(Document(d)), 0o644),
		os.WriteFile(filepath.Join(folder, plotFile), []byte(Plot(d)), 0o644),
		os.WriteFile(filepath.Join(folder, dataFile), raw, 0o644),
	)
}

// lines writes raw data as Read reads it.
func lines(d Data) ([]byte, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	if err := encoder.Encode(d.Machine); err != nil {
		return nil, err
	}
	for _, r := range d.Records {
		if err := encoder.Encode(r); err != nil {
			return nil, err
		}
	}
	for _, later := range d.Later {
		more, err := lines(later)
		if err != nil {
			return nil, err
		}
		b.Write(more)
	}
	return []byte(b.String()), nil
}

// Document returns the whole document, in Markdown.
func Document(d Data) string {
	var b strings.Builder
	b.WriteString(`# Benchmarks

`)
	b.WriteString(machine(d))
	fmt.Fprintf(&b, `
![Throughput and latency of all systems](%s)

All rows of a table were measured in turn on this machine, with the same work and
the same check of every message. Compare ratios, not numbers: another machine has
others. The raw data is %s; %s is written by the command above
and not edited.

`, plotFile, "`"+dataFile+"`", "`"+documentFile+"`")
	b.WriteString(method)
	b.WriteString(systems(d))
	b.WriteString("\n")
	b.WriteString(Tables(d))
	return b.String()
}

func machine(d Data) string {
	m := d.Machine
	var b strings.Builder
	rows := [][2]string{
		{"command", "`" + m.Command + "`"},
		{"commit", "`" + m.Commit + "`"},
		{"time", m.Time},
		{"machine", fmt.Sprintf("%d × %s, %s, Linux %s", m.CPUs, m.CPU, m.OS, m.Kernel)},
		{"compilers", m.Go + "; " + m.Compiler + ", -O2"},
		{"congestion control", fmt.Sprintf("the system's: %s; +cc: %s; tagbus: reno, as it chooses within a host", m.Congestion, m.Fast)},
		{"measurements", fmt.Sprintf("%d of %g s each", m.Profile.Rounds, m.Profile.Seconds)},
	}
	for _, later := range d.Later {
		rows = append(rows, later.about())
	}
	b.WriteString("| | |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	for _, program := range sortedKeys(m.Skipped) {
		fmt.Fprintf(&b, "| not measured | %s: %s |\n", program, m.Skipped[program])
	}
	return b.String()
}

// about says where the figures of a later run come from, in two cells.
func (d Data) about() [2]string {
	var names []string
	for _, r := range d.Records {
		if !slices.Contains(names, r.Scenario) {
			names = append(names, r.Scenario)
		}
	}
	m := d.Machine
	return [2]string{
		"measured later", fmt.Sprintf("%s: `%s`, commit `%s`, %s, %s, Linux %s, %d of %g s each",
			strings.Join(names, ", "), m.Command, m.Commit, m.Time, m.CPU, m.Kernel, m.Profile.Rounds, m.Profile.Seconds),
	}
}

const method = `## How it is measured
- Publisher and subscribers are processes of their own. *tagbus* goes by shared memory, as it chooses within
  a host, and all that is not named otherwise over TCP on the loopback device. The publisher publishes for a time; the rate is what all subscribers
  received from the first message sent to the last one received.
- Every message carries a sequence number and a check of it; one of 1,024 is
  compared byte by byte. What was sent and did not arrive is *lost*.
- *CPU* is the processor time of all processes of the system, without their start,
  for a million messages received or round trips.
  *others* is the share of the machine that other processes used meanwhile; before
  each measurement the runner waits until it is small, up to a limit.
- The figure of a row is the median. *least – most* are the extremes. A ratio is
  that of two medians.
- Goals hold for a node, a publisher and a subscriber without settings; systems with
  settings are information. They refer to C with the congestion control of tagbus.
- Ping-pong: one message is on its way, and the handler answers. Where a channel is
  named, a goroutine publishes and gets the answer from a channel that the handler
  fills.
- Open loop: messages are due at a fixed rate, whatever happens, and latency counts
  from when a message was due, so that waiting for the system is part of it. The
  publisher spins between two messages, *yields* with runtime.Gosched, or *sleeps* in
  a system call between two bursts, 200 µs apart. One that is not held up and sleeps
  wakes 50 to 100 µs late, which is no system's doing: latency then counts from when
  it has woken.
- Commands beside bulk: messages of 1 KiB in bursts of 64 on one tag, a message of
  64 B every 10 ms on another. Latency is that of these. *half*: half of the rate that
  the system reaches in throughput/1KiB, measured just before.
- Recording: the subscriber writes a file in /dev/shm, and has received the last message
  when the file is complete. It counts messages and checks none; bench-check reads them
  back and checks all. All formats have the same subscriber, and a goroutine that writes
  about 1 MiB at a time. *tagbus-data* is what a pipe to dd could be at best. *dd* itself
  makes its messages in its cache, and no other process needs a processor.
- Replay: latency is how late a message is published, by what the command says.
- Directory: publishers and as many subscribers start at once, each with a client of its own
  and 100 tags that lie among those of the others; no bus is behind them. *All see all* is
  the time until each subscriber knows each publisher. The processor time is that until
  then; *idle* is the share of one processor that all servers, and all clients, use
  together, from 15 s later on, for 30 s. Then *one more* publisher announces itself.
  *Entries gone* counts, for each subscriber, publishers that it lost though they lived.
  Memory is the most that the largest member, and all clients together, have had. 100 of
  each are in 100 processes, one publisher and one subscriber in each; 1,000 are in two
  processes.
- TLS: all systems have the same ECDSA certificates and TLS 1.3, with TLS_AES_128_GCM_SHA256;
  CURVE has keys of its own kind. *aes-gcm* is the cipher alone: it seals and opens the bytes of
  each message once, and checks them, in one process. No bus over TLS can take less processor
  time than it and the same bus over TCP together. *gonet-tls* is what crypto/tls does with a
  connection of Go. *tls/connect/1000*: 1,000 subscribers of one process start at once, and the
  time is that until each has its subscription acknowledged; connections that are lost or
  refused meanwhile, and while all are idle, are counted at both ends.
  *tls/policy*: 1,000 rules that all apply to the peer, and have 100 of 100,000 tags each. The
  time is that of one decision about all these tags.
- *apart*: the kernel likes to run two processes with one thread each in turn on one
  processor, where a wake-up takes a tenth of the time, in one measurement and not in
  the next. These rows have a processor for each.

`

// systems is the table of the systems that were measured.
func systems(d Data) string {
	measured := make(map[string]bool)
	for _, r := range d.all() {
		measured[r.System] = true
	}
	var b strings.Builder
	b.WriteString("## Systems\n\n| name | what it is |\n|---|---|\n")
	for _, s := range scenario.Systems {
		if measured[s.Name] {
			fmt.Fprintf(&b, "| %s | %s |\n", s.Name, s.About)
		}
	}
	return b.String()
}
