// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
)

func TestScheme(t *testing.T) {
	tests := []struct{ bus, want string }{
		{"/run/bus", ""},
		{"bus", ""},
		{"", ""},
		{"./odd:name", ""},
		{"C:/bus", ""},
		{"etcd:name", ""}, // a folder may be called so
		{"3etcd://a/b", ""},
		{"://a", ""},
		{"file:bus", "file"},
		{"file:///run/bus", "file"},
		{"FILE:///run/bus", "file"},
		{"etcd://a:1,b:2/bus", "etcd"},
		{"Etcd+x.y-1://a", "etcd+x.y-1"},
	}
	for _, test := range tests {
		if got := directory.Scheme(test.bus); got != test.want {
			t.Errorf("got scheme %q of %q, want %q", got, test.bus, test.want)
		}
	}
}

func TestFolder(t *testing.T) {
	tests := []struct {
		bus, path string
		ok        bool
		err       error
	}{
		{"/run/bus", "/run/bus", true, nil},
		{"bus", "bus", true, nil},
		{"/run/50%", "/run/50%", true, nil}, // a path is not escaped
		{"file:///run/a%20bus", "/run/a bus", true, nil},
		{"file://localhost/run/bus", "/run/bus", true, nil},
		{"file:some/bus", "some/bus", true, nil},
		{"file:/run/bus", "/run/bus", true, nil},
		{"etcd://a,b/bus", "", false, nil},
		{"file://pc-07/run/bus", "", true, directory.ErrInvalidURL},
		{"file:///run/bus?a=1", "", true, directory.ErrInvalidURL},
		{"file:///run/bus#a", "", true, directory.ErrInvalidURL},
		{"file:", "", true, directory.ErrInvalidURL},
		{"file://", "", true, directory.ErrInvalidURL},
		{"file:///%zz", "", true, directory.ErrInvalidURL},
		{"file:%zz", "", true, directory.ErrInvalidURL},
	}
	for _, test := range tests {
		path, ok, err := directory.Folder(test.bus)
		if path != test.path || ok != test.ok || !errors.Is(err, test.err) {
			t.Errorf("got %q, %v, %v of %q, want %q, %v, %v", path, ok, err, test.bus, test.path, test.ok, test.err)
		}
		if err != nil && !strings.Contains(err.Error(), test.bus) {
			t.Errorf("got %q, want it to name %q", err, test.bus)
		}
	}
}

func TestOpen(t *testing.T) {
	opened := memory.New()
	directory.Register("test-open", func(url string, s directory.Settings) (directory.Opened, error) {
		if url != "test-open://a,b/c" || s.Expiry != time.Minute {
			t.Errorf("got %q, %v, want what was given", url, s)
		}
		return opened, nil
	})
	got, err := directory.Open("test-open://a,b/c", directory.Settings{Expiry: time.Minute})
	if err != nil || got != directory.Opened(opened) {
		t.Errorf("got %v, %v, want the directory of the opener", got, err)
	}
	if schemes := directory.Schemes(); len(schemes) != 1 || schemes[0] != "test-open" {
		t.Errorf("got schemes %q, want the registered one", schemes)
	}
	for _, scheme := range []string{"test-open", "file", ""} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("got no panic of Register for %q, want one: it is taken", scheme)
				}
			}()
			directory.Register(scheme, nil)
		}()
	}
}

func TestOpenUnknown(t *testing.T) {
	tests := []struct{ url, names string }{
		{"etcd://a/bus", "tagbus-etcd"},
		{"etcds://a/bus", "tagbus/directory/etcd"},
		{"zookeeper://a/bus", "etcd://HOST,HOST/NAME"},
		{"/run/bus", "file:///path"},
	}
	for _, test := range tests {
		_, err := directory.Open(test.url, directory.Settings{})
		var unknown *directory.UnknownSchemeError
		if !errors.Is(err, directory.ErrUnknownScheme) || !errors.As(err, &unknown) || unknown.URL != test.url {
			t.Errorf("got %v, want an UnknownSchemeError with %q", err, test.url)
			continue
		}
		if text := err.Error(); !strings.Contains(text, test.url) || !strings.Contains(text, test.names) {
			t.Errorf("got %q, want it to name %q and %q", text, test.url, test.names)
		}
	}
}
