// SPDX-License-Identifier: Apache-2.0

// Package expected has the lines that programs may write while faults happen to them, each with the faults that
// explain it. A line that no fault explains is a defect.
package expected

import (
	"regexp"
	"slices"
)

// Fault is a kind of fault, in words.
type Fault string

// The faults.
const (
	Nothing             Fault = "nothing: it is how the program works"
	PublisherKilled     Fault = "a publisher is killed"
	PublisherEnds       Fault = "a publisher ends in order"
	PublisherStops      Fault = "a publisher stands still"
	SubscriberKilled    Fault = "a subscriber is killed"
	SubscriberEnds      Fault = "a subscriber ends in order"
	SubscriberStops     Fault = "a subscriber stands still"
	SubscriberLags      Fault = "a subscriber is slow"
	LinkDown            Fault = "the link is down"
	PacketsDropped      Fault = "all packets are dropped"
	PacketsLost         Fault = "some packets are lost"
	ConnectionsReset    Fault = "connections are reset"
	AddressChanged      Fault = "the address of the publishers' host changes"
	DirectoryKilled     Fault = "the server of the directory is killed"
	DirectoryStops      Fault = "the server of the directory stands still"
	CertificatesRenewed Fault = "certificates are renewed, and the old ones end"
	Strangers           Fault = "strangers connect"
	DiskFull            Fault = "the disk of the recorder is full"
	Busy                Fault = "the machine stands still"
	End                 Fault = "the soak ends"
)

// pattern is a line that faults explain.
type pattern struct {
	line *regexp.Regexp
	by   []Fault
}

// Line reports whether a fault that has happened lately explains a line.
//
//   - program: its name, without numbers: publisher, subscriber, directory, recorder, web, top.
func Line(program, line string, lately func(Fault) bool) bool {
	for _, p := range patterns[program] {
		if p.line.MatchString(line) && slices.ContainsFunc(p.by, func(f Fault) bool { return f == Nothing || lately(f) }) {
			return true
		}
	}
	return false
}

func of(line string, by ...Fault) pattern { return pattern{regexp.MustCompile(line), by} }
