// SPDX-License-Identifier: Apache-2.0

// Package costs tells from a CPU profile of a publisher of this bus what its time
// went into.
package costs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// What time goes into.
const (
	Copy    = "copy into the page"
	Send    = "system call sendmsg"
	Calls   = "epoll and other system calls"
	Bus     = "bus"
	Network = "netio"
	Runtime = "runtime of Go"
	Program = "program (the benchmark itself)"
)

// Kinds are all of these, in the order of the document.
var Kinds = []string{Copy, Send, Calls, Bus, Network, Runtime, Program}

// send is the function that sends to a socket.
const send = "tagbus/netio/tcp.(*sender).send"

// owners are the packages whose functions tell what the time is for, by what their
// names begin with. A function of no owner works for the one that calls it.
var owners = []struct{ prefix, kind string }{
	{"tagbus/bus", Bus},
	{"tagbus/subscription.", Bus},
	{"tagbus/tags.", Bus},
	{"tagbus/node.", Bus},
	{"tagbus/netio", Network},
	{"tagbus/bench/", Program},
	{"main.", Program},
	{"runtime.", Runtime},
}

// calls are the functions that call the system, by what their names begin with.
var calls = []string{
	"internal/runtime/syscall", "syscall.", "golang.org/x/sys/unix.",
	"runtime.futex", "runtime.usleep", "runtime.osyield", "runtime.madvise", "runtime.mmap", "runtime.munmap",
	"runtime.read", "runtime.write1", "runtime.tgkill", "runtime.timer_", "runtime.rtsigprocmask", "runtime.sigaltstack",
}

// Of returns the processor time of a profile, ns, by what it went into.
//
//   - file: a CPU profile, as runtime/pprof writes it.
func Of(file string) (map[string]float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("costs: %s: %w", file, err)
	}
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if at < 0 {
		return nil, errors.New("costs: " + file + " is no CPU profile")
	}
	sum := make(map[string]float64)
	for _, sample := range p.Sample {
		sum[kindOf(stack(sample))] += float64(sample.Value[at])
	}
	return sum, nil
}

// stack returns the names of the functions of a sample, the innermost first.
func stack(s *profile.Sample) []string {
	var names []string
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				names = append(names, line.Function.Name)
			}
		}
	}
	return names
}

// kindOf tells what the time of a stack goes into: the innermost function that has an
// owner says so, and whether the system or memmove works for it.
func kindOf(stack []string) string {
	call, copying := false, false
	for _, name := range stack {
		switch {
		case name == send && call:
			return Send
		case name == "runtime.memmove":
			copying = true
			continue
		case slices.ContainsFunc(calls, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			call = true
			continue
		}
		for _, owner := range owners {
			switch {
			case !strings.HasPrefix(name, owner.prefix):
			case call:
				return Calls
			case copying && owner.kind == Bus:
				return Copy
			default:
				return owner.kind
			}
		}
	}
	if call {
		return Calls
	}
	return Runtime
}
