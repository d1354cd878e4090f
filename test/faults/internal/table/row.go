// SPDX-License-Identifier: Apache-2.0

// Package table runs rows, each of which is a fault, and what is promised when it happens.
package table

import (
	"fmt"
	"strings"
	"time"
)

// Directories and transports of a Row.
const (
	File = "file"
	Etcd = "etcd"
	TCP  = "tcp"
	TLS  = "tls"
	SHM  = "shm"
)

// Row is a fault. It has either Run, or Held, or Missing with a reason for ever.
type Row struct {
	Number  string // of the matrix; those that came later have a word before it
	Name    string // what happens
	Inject  string // how, on which side, for how long
	Promise string

	Directories []string // default: File
	Ways        []string // default: TCP
	Needs       []string // programs of this machine
	Missing     func() string
	Alone       bool // disturbs others, or is disturbed by them
	Quick       bool // in the selection of five minutes

	Run    func(*Case)
	Struck Counts   // of Run: what shows that the fault has struck, and how much of it there is at least
	Held   []string // tests that hold the promise: "./bus TestName"
	Tags   string   // of the build of these tests, with commas between them; with libfabric it is one with cgo
}

// Outcome is what became of a row with one directory and one transport.
type Outcome struct {
	Row            *Row
	Directory, Way string // empty: of a row that tests hold
	Verdict        Verdict
	Reason         string   // why it failed, or was not run
	Measured       []string // in the order of measuring
	Took           time.Duration
	Logs           string // folder of what the processes said
}

// Verdict is how an Outcome is.
type Verdict int

// The verdicts.
const (
	Kept Verdict = iota
	Broken
	NotRun
)

// String returns the verdict as a word.
func (v Verdict) String() string { return [...]string{"kept", "BROKEN", "not run"}[v] }

// Cases returns what a row runs with: each directory with each transport.
func (r *Row) Cases() (all [][2]string) {
	if r.Run == nil {
		return [][2]string{{"", ""}}
	}
	directories, ways := r.Directories, r.Ways
	if directories == nil {
		directories = []string{File}
	}
	if ways == nil {
		ways = []string{TCP}
	}
	for _, directory := range directories {
		for _, way := range ways {
			all = append(all, [2]string{directory, way})
		}
	}
	return all
}

// Validate returns what is wrong with rows, or "".
func Validate(rows []Row) string {
	var wrong []string
	seen := make(map[string]bool)
	for i := range rows {
		r := &rows[i]
		if r.Number == "" || r.Name == "" || r.Inject == "" || r.Promise == "" {
			wrong = append(wrong, fmt.Sprintf("row %q %q: a text is missing", r.Number, r.Name))
		}
		if seen[r.Number] {
			wrong = append(wrong, "two rows "+r.Number)
		}
		seen[r.Number] = true
		if (r.Run == nil) == (r.Held == nil) && r.Missing == nil {
			wrong = append(wrong, "row "+r.Number+": want Run or Held")
		}
		if r.Run != nil && len(r.Struck) == 0 {
			wrong = append(wrong, "row "+r.Number+": Struck does not say what shows that the fault has struck")
		}
		for what, least := range r.Struck {
			if what == "" || least < 1 {
				wrong = append(wrong, fmt.Sprintf("row %s: Struck wants %d of %q, which is always there", r.Number, least, what))
			}
		}
		if strings.ContainsAny(r.Name+r.Inject+r.Promise, "|\n") {
			wrong = append(wrong, "row "+r.Number+": a text would break the table")
		}
	}
	return strings.Join(wrong, "; ")
}
