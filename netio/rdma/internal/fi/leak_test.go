// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"tagbus/internal/invariants"
	"tagbus/netio/rdma/internal/fi"
)

// registerAndForget is the place that the report of the leak names.
//
//go:noinline
func registerAndForget(tb testing.TB, d *fi.Domain, n int) {
	tb.Helper()
	must(d.Register(make([]byte, n)))(tb) // of the Go heap: there is something to unpin
}

// TestARegistrationThatIsLostIsReported, and its memory stays, as the device may write to it. Before, a
// runtime.Pinner was collected with it and ended the program ("found leaking pinned pointer").
func TestARegistrationThatIsLostIsReported(t *testing.T) {
	const size = 12_345
	reports, stop := reported(t)
	defer stop()
	i := must(fi.GetInfo(fi.Hints{Provider: "tcp"}))(t) // whose domain may be closed before its registrations
	defer i.Free()
	f := must(fi.OpenFabric(i))(t)
	d := must(f.OpenDomain(i))(t)
	registerAndForget(t, d, size)
	named := func(s string) bool {
		return strings.Contains(s, "12345") && (!invariants.Enabled || strings.Contains(s, "registerAndForget"))
	}
	var got []string
	await(t, "a report of the leak", func() bool {
		runtime.GC()
		got = append(got, reports()...)
		return len(got) > 0
	})
	if len(got) != 1 || !named(got[0]) {
		t.Errorf("reports: got %q, want one of %d bytes, in a build with invariants registered in registerAndForget", got, size)
	}
	for range 3 { // what is unreachable is collected in the cycle behind the one that finds it
		runtime.GC()
	}
	if left := fi.Registrations(); !slices.ContainsFunc(left, named) {
		t.Errorf("Registrations after the report: got %q, want one of %d bytes", left, size)
	}
	_ = d.Close() // the provider may count the registration
	_ = f.Close()
}

// reported returns the reports of leaks: those of a build with invariants, or what is logged.
func reported(t *testing.T) (reports func() []string, stop func()) {
	t.Helper()
	if invariants.Enabled {
		return invariants.Record()
	}
	log, before := &logged{}, slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	return log.take, func() { slog.SetDefault(before) }
}

// logged keeps lines of a log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

func (l *logged) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.lines
	l.lines = nil
	return all
}

func TestARegistrationThatIsClosedIsNotReported(t *testing.T) {
	reports, stop := reported(t)
	defer stop()
	i := must(fi.GetInfo(fi.Hints{Provider: provider(), Addr: loopback(), Listen: true}))(t)
	defer i.Free()
	f := must(fi.OpenFabric(i))(t)
	d := must(f.OpenDomain(i))(t)
	before := len(fi.Registrations())
	mr := must(d.Register(make([]byte, 100)))(t)
	succeed(t, mr.Close())
	succeed(t, mr.Close()) // does nothing
	if got := len(fi.Registrations()); got != before {
		t.Errorf("Registrations after Close: got %d, want %d as before", got, before)
	}
	fi.FailCalls(func(call string) fi.Errno {
		if call == "fi_mr_reg" {
			return fi.ENOMEM
		}
		return 0
	})
	_, err := d.Register(make([]byte, 100))
	fi.FailCalls(nil)
	if err == nil {
		t.Error("Register that fails: got no error, want one")
	}
	runtime.GC()
	runtime.GC()
	if got := reports(); len(got) != 0 {
		t.Errorf("reports: got %q, want none", got)
	}
	succeed(t, d.Close())
	succeed(t, f.Close())
}
