// SPDX-License-Identifier: Apache-2.0

package invariants_test

import (
	"strings"
	"testing"

	"tagbus/internal/invariants"
)

func TestPoisonLeavesNoByte(t *testing.T) {
	mem := []byte("abc")
	if invariants.Poisoned(mem) {
		t.Error("Poisoned of fresh memory: got true, want false")
	}
	invariants.Poison(mem)
	if !invariants.Poisoned(mem) {
		t.Errorf("after Poison: got %x, want it poisoned", mem)
	}
	mem[1] = 0
	if invariants.Poisoned(mem) {
		t.Error("Poisoned with one byte changed: got true, want false")
	}
}

func TestSumSeesEachByte(t *testing.T) {
	mem := []byte("some bytes")
	whole := invariants.Sum(mem)
	if got := invariants.Sum(mem[:4], nil, mem[4:]); got != whole {
		t.Errorf("sum of the same bytes in pieces: got %x, want %x", got, whole)
	}
	for i := range mem {
		mem[i] ^= 1
		if got := invariants.Sum(mem); got == whole {
			t.Errorf("sum with byte %d changed: got the same, want another", i)
		}
		mem[i] ^= 1
	}
}

func TestReportCrashesUnlessRecorded(t *testing.T) {
	reports, stop := invariants.Record()
	invariants.Report("key %d", 7)
	if got := reports(); len(got) != 1 || !strings.Contains(got[0], "key 7") {
		t.Errorf("recorded: got %q, want one report of key 7", got)
	}
	if got := reports(); len(got) != 0 {
		t.Errorf("recorded since: got %q, want nothing", got)
	}
	stop()
	var crashed string
	defer invariants.SetCrash(func(text string) { crashed = text })()
	invariants.Report("key %d", 8)
	if !strings.Contains(crashed, "key 8") || !strings.Contains(crashed, "TestReportCrashesUnlessRecorded") {
		t.Errorf("crashed with %q, want key 8 and the stack", crashed)
	}
}

func TestCheckThread(t *testing.T) {
	invariants.CheckThread(true, "Send")
	wantPanic(t, "Send of an Unsafe backend", func() { invariants.CheckThread(false, "Send") })
}

func wantPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, text) {
			t.Errorf("panic: got %q, want one with %q", got, text)
		}
	}()
	f()
}
