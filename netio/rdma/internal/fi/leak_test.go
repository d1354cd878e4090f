// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"runtime"
	"slices"
	"strings"
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

func TestARegistrationThatIsLostNamesWhereItWasMade(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("this build does not check registrations; the tag invariants does")
	}
	const size = 12_345
	reports, stop := invariants.Record()
	defer stop()
	i := must(fi.GetInfo(fi.Hints{Provider: "tcp"}))(t) // whose domain may be closed before its registrations
	defer i.Free()
	f := must(fi.OpenFabric(i))(t)
	d := must(f.OpenDomain(i))(t)
	registerAndForget(t, d, size)
	named := func(s string) bool {
		return strings.Contains(s, "12345 bytes") && strings.Contains(s, "registerAndForget")
	}
	if left := fi.Registrations(); !slices.ContainsFunc(left, named) {
		t.Errorf("Registrations: got %q, want one of %d bytes made in registerAndForget", left, size)
	}
	var got []string
	await(t, "a report of the leak", func() bool {
		runtime.GC()
		got = append(got, reports()...)
		return len(got) > 0
	})
	if len(got) != 1 || !named(got[0]) {
		t.Errorf("reports: got %q, want one of %d bytes registered in registerAndForget", got, size)
	}
	if left := fi.Registrations(); slices.ContainsFunc(left, named) {
		t.Errorf("Registrations after the report: got %q, want none of it", left)
	}
	// Twice: a runtime.Pinner that is lost with its memory panics in a later cycle.
	runtime.GC()
	runtime.GC()
	_ = d.Close() // the provider may count the registration
	_ = f.Close()
}

func TestARegistrationThatIsClosedIsNotReported(t *testing.T) {
	reports, stop := invariants.Record()
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
