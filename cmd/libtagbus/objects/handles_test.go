// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"strings"
	"testing"

	"tagbus/cmd/libtagbus/objects"
)

type thing struct{ n int }

func TestTable_findsClosedForeignAndWrongHandles(t *testing.T) {
	var table objects.Table
	one, two := &thing{1}, &thing{2}
	a, b := table.Put(objects.KindBus, one), table.Put(objects.KindPublisher, two)
	check := func(h objects.Handle, k objects.Kind, want *thing, code objects.Code, text string) {
		t.Helper()
		got, err := objects.Get[*thing](&table, h, k, "it")
		if got != want || objects.CodeOf(err) != code || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%x: got %v, %v, want %v, %d, %s", h, got, err, want, code, text)
		}
	}
	check(a, objects.KindBus, one, objects.OK, "")
	check(b, 0, two, objects.OK, "")
	check(b, objects.KindBus, nil, objects.Invalid, "it is a publisher, want a bus")
	check(0, objects.KindBus, nil, objects.Invalid, "it is NULL, want a bus")
	check(0, 0, nil, objects.Invalid, "it is NULL")
	for _, foreign := range []objects.Handle{1, 4096, 0x7fff_ffff_e000, ^objects.Handle(0), a ^ 1<<63, a &^ (15 << 51)} {
		check(foreign, objects.KindBus, nil, objects.Invalid, "no handle")
	}
	check(a+5000, objects.KindBus, nil, objects.Invalid, "no handle")
	check(a+7, objects.KindBus, nil, objects.Closed, "closed")
	if _, err := objects.Get[*testing.T](&table, a, 0, "it"); objects.CodeOf(err) != objects.Invalid || !strings.Contains(err.Error(), "does not take") {
		t.Errorf("of another type: got %v", err)
	}
	if !table.Remove(a) || table.Remove(a) || table.Remove(0) {
		t.Error("a handle is removed once")
	}
	check(a, objects.KindBus, nil, objects.Closed, "it is closed")
	if _, err := objects.Take[*thing](&table, b, objects.KindPublisher, "it"); err != nil {
		t.Error(err)
	}
	if _, err := objects.Take[*thing](&table, b, objects.KindPublisher, "it"); objects.CodeOf(err) != objects.Closed {
		t.Errorf("the second time: got %v", err)
	}
}

// A place is used again late, and its old handles stay closed.
func TestTable_placesAreUsedAgain(t *testing.T) {
	var table objects.Table
	seen := make(map[objects.Handle]bool)
	var old []objects.Handle
	for i := range 10_000 {
		h := table.Put(objects.KindSubscription, &thing{i})
		if seen[h] {
			t.Fatalf("%x is given twice", h)
		}
		seen[h] = true
		old = append(old, h)
		table.Remove(h)
	}
	live := table.Put(objects.KindSubscription, &thing{-1})
	for _, h := range old {
		if _, err := objects.Get[*thing](&table, h, objects.KindSubscription, "it"); objects.CodeOf(err) != objects.Closed {
			t.Fatalf("%x: got %v, want that it is closed", h, err)
		}
	}
	if _, err := objects.Get[*thing](&table, live, objects.KindSubscription, "it"); err != nil {
		t.Error(err)
	}
}

func TestTable_aLookupAllocatesNothing(t *testing.T) {
	var table objects.Table
	h := table.Put(objects.KindBus, &thing{})
	if n := testing.AllocsPerRun(100, func() { _, _ = objects.Get[*thing](&table, h, objects.KindBus, "it") }); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}
