// SPDX-License-Identifier: Apache-2.0

package words_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/alecthomas/kong"

	"tagbus/bus"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/cmd/internal/words"
)

// kebab returns a name of Go as a flag has it.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// eachField calls f with the name of each field of a configuration that is a number.
func eachField(t reflect.Type, f func(name string)) {
	for i := range t.NumField() {
		switch field := t.Field(i); field.Type.Kind() {
		case reflect.Struct:
			eachField(field.Type, f)
		case reflect.Int, reflect.Int64:
			f(field.Name)
		default:
		}
	}
}

// A number that a configuration does not take is told by the flag that sets it.
func TestFieldsAreNamedByTheirFlags(t *testing.T) {
	for _, test := range []struct {
		model   func() (*kong.Application, error)
		configs []any
	}{
		{publish.Model, []any{bus.PublisherConfig{}, bus.SenderConfig{}}},
		{subscribe.Model, []any{bus.SubscriberConfig{}, bus.ReceiverConfig{}, bus.SubscriptionConfig{}}},
	} {
		model, err := test.model()
		if err != nil {
			t.Fatal(err)
		}
		flags := make(map[string]bool)
		for _, f := range model.Flags {
			flags[f.Name] = true
		}
		found := 0
		for _, config := range test.configs {
			eachField(reflect.TypeOf(config), func(name string) {
				flag := kebab(name)
				if !flags[flag] || name == "Timeout" { // --timeout is about messages, and SubscriptionConfig.Timeout is not set by a flag
					return
				}
				found++
				if got, want := words.WithFlags("bus: invalid configuration: "+name+" is 1, want 2"), "--"+flag+" is 1, want 2"; got != want {
					t.Errorf("%s: got %s, want %s", model.Name, got, want)
				}
			})
		}
		if found < 3 {
			t.Errorf("%s: got %d fields with flags of their name, want more", model.Name, found)
		}
	}
}

// TestALimitThatIsReached is told with where it is set, once.
func TestALimitThatIsReached(t *testing.T) {
	for text, want := range map[string]string{
		"reactor: create timer: too many open files":                   "reactor: create timer: too many open files (raise the limit: ulimit -n, LimitNOFILE= of systemd)",
		"open x: too many open files in system; close: bad":            "open x: too many open files in system (raise fs.file-max); close: bad",
		"x: too many open files: raise the limit of open files (here)": "x: too many open files: raise the limit of open files (here)",
	} {
		if got := words.Of(text); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
