// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"reflect"
	"testing"
	"time"

	"tagbus/bus/state"
)

// eachTime calls f for each time in x, with its place, and gives each slice in it an element.
func eachTime(x reflect.Value, place string, f func(place string, t *time.Time)) {
	switch {
	case x.Type() == reflect.TypeFor[time.Time]():
		f(place, x.Addr().Interface().(*time.Time))
	case x.Kind() == reflect.Struct:
		for i := range x.NumField() {
			eachTime(x.Field(i), place+"."+x.Type().Field(i).Name, f)
		}
	case x.Kind() == reflect.Slice:
		if x.Len() == 0 {
			x.Set(reflect.MakeSlice(x.Type(), 1, 1))
		}
		eachTime(x.Index(0), place, f)
	default: // no time
	}
}

// Whatever is added to a state: one clock shows all its times.
func TestEveryTimeOfAStateIsMoved(t *testing.T) {
	was := time.Date(2026, 11, 29, 22, 0, 0, 0, time.UTC)
	for _, d := range []time.Duration{0, 3 * time.Hour, -2 * time.Second} {
		var s state.State
		times := 0
		eachTime(reflect.ValueOf(&s).Elem(), "State", func(_ string, x *time.Time) { times, *x = times+1, was })
		if times < 20 {
			t.Fatalf("a state has %d times, want more", times)
		}
		moved := s.Moved(d)
		eachTime(reflect.ValueOf(&moved).Elem(), "State", func(place string, x *time.Time) {
			if got := x.Sub(was); got != d {
				t.Errorf("%s is moved by %v, want %v", place, got, d)
			}
		})
		eachTime(reflect.ValueOf(&s).Elem(), "State", func(place string, x *time.Time) {
			if !x.Equal(was) {
				t.Errorf("%s of the state itself is %v, want %v", place, *x, was)
			}
		})
		var none state.State
		if got := none.Moved(d); !reflect.DeepEqual(got, none) {
			t.Errorf("moved by %v: got %+v of a state without times", d, got)
		}
	}
}
