// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tagbus/bus/directory"
	"tagbus/tags"
)

func TestEntry_Validate_refuses(t *testing.T) {
	address := netip.MustParseAddrPort
	tests := []struct {
		name   string
		change func(*directory.Entry)
		fields []string // in the order of the violations
	}{
		{"a full entry", func(*directory.Entry) {}, nil},
		{"no tags, name, host and pid", func(e *directory.Entry) { e.Tags, e.Name, e.Host, e.PID = tags.Set{}, "", "", 0 }, nil},
		{"the longest instance", func(e *directory.Entry) { e.Instance = strings.Repeat("x", 64) }, nil},
		{"a link-local address with a zone", func(e *directory.Entry) { e.Addresses[0] = address("[fe80::1%eth0]:1") }, nil},
		{"the zero value", func(e *directory.Entry) { *e = directory.Entry{} }, []string{"Instance", "Backend", "Addresses", "PageBytes", "MaxMessageBytes"}},
		{"an instance that is a path", func(e *directory.Entry) { e.Instance = "../x" }, []string{"Instance"}},
		{"an instance that hides a file", func(e *directory.Entry) { e.Instance = ".x" }, []string{"Instance"}},
		{"an instance that is too long", func(e *directory.Entry) { e.Instance = strings.Repeat("x", 65) }, []string{"Instance"}},
		{"a name with an escape sequence", func(e *directory.Entry) { e.Name = "\x1b[2J" }, []string{"Name"}},
		{"a host that is not UTF-8", func(e *directory.Entry) { e.Host = "\xff" }, []string{"Host"}},
		{"a host that is too long", func(e *directory.Entry) { e.Host = strings.Repeat("h", 256) }, []string{"Host"}},
		{"a negative pid", func(e *directory.Entry) { e.PID = -1 }, []string{"PID"}},
		{"a copy", func(e *directory.Entry) { e.Mirror = "m1" }, nil},
		{"a copy by a path", func(e *directory.Entry) { e.Mirror = "../x" }, []string{"Mirror"}},
		{"a receiver", func(e *directory.Entry) { e.Role = directory.Receiver }, nil},
		{"a role that nobody knows", func(e *directory.Entry) { e.Role = "recorder" }, nil},
		{"a role with a blank", func(e *directory.Entry) { e.Role = "re ceiver" }, []string{"Role"}},
		{"a role with an escape sequence", func(e *directory.Entry) { e.Role = "\x1b[2J" }, []string{"Role"}},
		{"a backend with a blank", func(e *directory.Entry) { e.Backend = "t cp" }, []string{"Backend"}},
		{"an address without port", func(e *directory.Entry) { e.Addresses[1] = address("10.0.0.1:0") }, []string{"Addresses[1]"}},
		{"addresses that nobody can dial", func(e *directory.Entry) {
			e.Addresses = []netip.AddrPort{{}, address("0.0.0.0:1"), address("[::]:1"), address("224.0.0.1:1"), address("255.255.255.255:1"), address("10.0.0.1:1")}
		}, []string{"Addresses[0]", "Addresses[1]", "Addresses[2]", "Addresses[3]", "Addresses[4]"}},
		{"a zone that is no interface", func(e *directory.Entry) {
			e.Addresses[0] = netip.AddrPortFrom(netip.MustParseAddr("fe80::1").WithZone("\x1b[2J"), 1)
		}, []string{"Addresses[0]"}},
		{"ways", func(e *directory.Entry) { e.Ways = []directory.Way{{"shm", e.Addresses}, {"rdma:verbs", e.Addresses}} }, nil},
		{"too many ways", func(e *directory.Entry) {
			for i := range 9 {
				e.Ways = append(e.Ways, directory.Way{Backend: fmt.Sprint("way", i), Addresses: e.Addresses})
			}
		}, []string{"Ways"}},
		{"ways that are none", func(e *directory.Entry) {
			e.Ways = []directory.Way{{"", e.Addresses}, {"a b", nil}, {"c", []netip.AddrPort{{}}}, {"d", make([]netip.AddrPort, 65)}}
		}, []string{"Ways[0].Backend", "Ways[1].Backend", "Ways[1].Addresses", "Ways[2].Addresses[0]", "Ways[3].Addresses"}},
		{"a backend twice", func(e *directory.Entry) {
			e.Ways = []directory.Way{{"shm", e.Addresses}, {"shm", e.Addresses}, {e.Backend, e.Addresses}}
		}, []string{"Ways[0].Backend", "Ways[2].Backend"}},
		{"too many addresses", func(e *directory.Entry) { e.Addresses = make([]netip.AddrPort, 65) }, []string{"Addresses"}},
		{"a time that no clock shows", func(e *directory.Entry) { e.Since = time.Unix(0, 0).Add(-time.Hour) }, []string{"Since"}},
		{"a time", func(e *directory.Entry) { e.Since = time.Unix(1784000000, 5) }, nil},
		{"sizes of zero and of 2^30", func(e *directory.Entry) { e.PageBytes, e.MaxMessageBytes = 0, 1<<30 }, []string{"PageBytes", "MaxMessageBytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := entry("a", 1)
			test.change(&e)
			err := e.Validate()
			if errors.Is(err, directory.ErrInvalidEntry) != (test.fields != nil) {
				t.Errorf("got %v, want ErrInvalidEntry: %t", err, test.fields != nil)
			}
			var got []string
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				for _, err := range joined.Unwrap() {
					var field *directory.FieldError
					if !errors.As(err, &field) || field.Reason == "" {
						t.Fatalf("got violation %v, want a *FieldError with a reason", err)
					}
					if strings.Contains(field.Error(), "\x1b") || !utf8.ValidString(field.Error()) {
						t.Errorf("got error %q, want one that is safe to print", field)
					}
					got = append(got, field.Field)
				}
			}
			if strings.Join(got, " ") != strings.Join(test.fields, " ") {
				t.Errorf("got violations of %v, want %v", got, test.fields)
			}
		})
	}
}

func TestEntry_Equal_eachField(t *testing.T) {
	tests := []struct {
		name   string
		change func(*directory.Entry)
	}{
		{"instance", func(e *directory.Entry) { e.Instance = "b" }},
		{"name", func(e *directory.Entry) { e.Name = "x" }},
		{"host", func(e *directory.Entry) { e.Host = "x" }},
		{"pid", func(e *directory.Entry) { e.PID++ }},
		{"mirror", func(e *directory.Entry) { e.Mirror = "m1" }},
		{"role", func(e *directory.Entry) { e.Role = directory.Receiver }},
		{"backend", func(e *directory.Entry) { e.Backend = "x" }},
		{"order of addresses", func(e *directory.Entry) {
			e.Addresses[0], e.Addresses[1] = e.Addresses[1], e.Addresses[0]
		}},
		{"address of a way", func(e *directory.Entry) { e.Ways[0].Addresses[0] = e.Addresses[1] }},
		{"way", func(e *directory.Entry) { e.Ways = nil }},
		{"tags", func(e *directory.Entry) { e.Tags = tags.Of(2) }},
		{"since", func(e *directory.Entry) { e.Since = time.Unix(1, 0) }},
		{"page size", func(e *directory.Entry) { e.PageBytes++ }},
		{"message size", func(e *directory.Entry) { e.MaxMessageBytes++ }},
	}
	a := entry("a", 1)
	a.Ways = []directory.Way{{"shm", a.Addresses[:1]}}
	if !a.Equal(a.Clone()) {
		t.Error("got a clone that differs, want an equal one")
	}
	for _, test := range tests {
		t.Run("another "+test.name, func(t *testing.T) {
			b := a.Clone()
			test.change(&b)
			if a.Equal(b) || b.Equal(a) {
				t.Error("got equal entries, want different ones")
			}
		})
	}
}

func TestEvent_String_texts(t *testing.T) {
	tests := []struct {
		name  string
		event directory.Event
		want  string
	}{
		{"appeared", directory.Event{Kind: directory.Appeared, Entry: entry("a")}, "appeared a (felix-07)"},
		{"changed without a name", directory.Event{Kind: directory.Changed, Entry: directory.Entry{Instance: "a"}}, "changed a"},
		{
			"expired",
			directory.Event{Kind: directory.Gone, Entry: entry("a"), Err: directory.ErrExpired},
			"gone a (felix-07): directory: entry not renewed in time",
		},
		{"a problem of the storage", directory.Event{Kind: directory.Problem, Err: errors.New("no disk")}, "problem: no disk"},
		{"no event", directory.Event{}, "EventKind(0)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.event.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
