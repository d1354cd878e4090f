// SPDX-License-Identifier: Apache-2.0

// Package extremes tries the numbers and times of a configuration at the edges of their
// types, where sums and products of them overflow.
package extremes

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// Each calls use in a subtest for each number and time of config, a struct, however deep,
// and each value at an edge of its type, with the rest of config as it is. What use returns
// is nil if it has worked with the configuration, else why that is refused: the error must
// name the field, or a word that use puts in its place, and its limit.
func Each(t *testing.T, config any, use func(t *testing.T, config any) error) {
	base := reflect.ValueOf(config)
	for _, field := range numbersOf(base.Type()) {
		for _, value := range edges(base.FieldByIndex(field.index)) {
			t.Run(fmt.Sprintf("%s=%v", field.path, value), func(t *testing.T) {
				changed := reflect.New(base.Type()).Elem()
				changed.Set(base)
				changed.FieldByIndex(field.index).Set(value)
				err := use(t, changed.Interface())
				if err == nil {
					return
				}
				name := field.path[strings.LastIndex(field.path, ".")+1:]
				text := strings.ToLower(err.Error())
				if !strings.Contains(text, strings.ToLower(name)) || !strings.Contains(text, "want") && !strings.Contains(text, "must") {
					t.Errorf("got %v, want the field %s and its limit named", err, field.path)
				}
			})
		}
	}
}

// number is a field that is a number or a time.
type number struct {
	path  string
	index []int
}

// numbersOf returns the numbers and times of a type, an embedded struct's too.
func numbersOf(t reflect.Type) (all []number) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Uint64:
			all = append(all, number{f.Name, []int{i}})
		case reflect.Struct:
			for _, inner := range numbersOf(f.Type) {
				all = append(all, number{f.Name + "." + inner.path, append([]int{i}, inner.index...)})
			}
		default: // no number
		}
	}
	return all
}

// edges returns the values at the edges of a number's type.
func edges(v reflect.Value) (values []reflect.Value) {
	most := uint64(math.MaxInt64)
	switch v.Kind() {
	case reflect.Int:
		most = math.MaxInt
	case reflect.Uint64:
		most = math.MaxUint64
	default: // int64, as times are
	}
	for _, n := range []uint64{most, most - 1, most/2 + 1, most / 2, most / 1000} {
		x := reflect.New(v.Type()).Elem()
		if v.CanUint() {
			x.SetUint(n)
			values = append(values, x)
			continue
		}
		x.SetInt(int64(n))
		negative := reflect.New(v.Type()).Elem()
		negative.SetInt(-int64(n) - 1)
		values = append(values, x, negative)
	}
	return values
}
