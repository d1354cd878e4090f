// SPDX-License-Identifier: Apache-2.0

package costs_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"tagbus/bench/internal/costs"
)

// write writes a profile of one sample of 1 ns, whose functions are the innermost
// first.
func write(t *testing.T, unit string, stack ...string) string {
	t.Helper()
	location := &profile.Location{ID: 1}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: unit}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{7, 1}}},
		Location:   []*profile.Location{location},
	}
	for i, name := range stack {
		f := &profile.Function{ID: uint64(i + 1), Name: name}
		p.Function = append(p.Function, f)
		location.Line = append(location.Line, profile.Line{Function: f})
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "cpu.prof"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := p.Write(file); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

func TestOf(t *testing.T) {
	const call = "internal/runtime/syscall/linux.Syscall6"
	tests := []struct {
		name  string
		stack []string
		want  string
	}{
		{"a copy for the bus", []string{"runtime.memmove", "tagbus/bus.appendPlain", "main.(*batch).Complete"}, costs.Copy},
		{"a copy for somebody else", []string{"runtime.memmove", "fmt.Fprintf", "main.main", "tagbus/bus.x"}, costs.Program},
		{"a copy for the runtime", []string{"runtime.memmove", "runtime.growslice", "tagbus/bus.x"}, costs.Runtime},
		{"sending", []string{call, "syscall.RawSyscall6", "tagbus/netio/tcp.(*sender).send", "tagbus/netio/tcp.x"}, costs.Send},
		{"what sending does beside its call", []string{"tagbus/netio/tcp.(*sender).send", "tagbus/netio/tcp.x"}, costs.Network},
		{"another call", []string{call, "syscall.write", "tagbus/netio/reactor.x"}, costs.Calls},
		{"a call of the runtime", []string{"runtime.futex", "runtime.futexsleep", "tagbus/bus.x"}, costs.Calls},
		{"a call of nobody known", []string{call}, costs.Calls},
		{"a lock works for who takes it", []string{"internal/sync.(*Mutex).Lock", "sync.(*Mutex).Lock", "tagbus/bus.x"}, costs.Bus},
		{"the runtime on behalf of others", []string{"runtime.mallocgc", "tagbus/bus.x"}, costs.Runtime},
		{"nobody known", []string{"unknown"}, costs.Runtime},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := costs.Of(write(t, "nanoseconds", test.stack...))
			if want := map[string]float64{test.want: 1}; err != nil || !cmp.Equal(got, want) {
				t.Errorf("got %v and error %v, want %v", got, err, want)
			}
		})
	}
}

func TestOfRefusesOtherProfiles(t *testing.T) {
	for _, file := range []string{write(t, "bytes", "main.main"), "nosuch"} {
		if got, err := costs.Of(file); err == nil {
			t.Errorf("%s: got %v and no error, want one", file, got)
		}
	}
}
