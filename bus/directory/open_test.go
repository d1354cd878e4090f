// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
)

func TestScheme_ofABus(t *testing.T) {
	for bus, want := range map[string]string{
		"":                 "",
		"/run/bus":         "",
		"bus":              "",
		"a:b":              "", // the path of a folder may have a colon
		"./x://y":          "",
		"1a://b":           "",
		"://b":             "",
		"etcd:/a/b":        "",
		"file:bus":         "file",
		"file:///run/bus":  "file",
		"etcd://a,b:1/x":   "etcd",
		"ETCD://a":         "etcd",
		"x-y+z.1://[::1]/": "x-y+z.1",
	} {
		if got := directory.Scheme(bus); got != want {
			t.Errorf("%q: got %q, want %q", bus, got, want)
		}
	}
}

func TestFolder_ofABus(t *testing.T) {
	tests := []struct {
		bus, path string
		is, fails bool
	}{
		{"/run/bus", "/run/bus", true, false},
		{"some/bus%20x", "some/bus%20x", true, false}, // a path is as it is
		{"file:///run/my%20bus", "/run/my bus", true, false},
		{"file://localhost/run/bus", "/run/bus", true, false},
		{"file:/run/bus", "/run/bus", true, false},
		{"file:some/bus%20x", "some/bus x", true, false},
		{"File:///run/bus", "/run/bus", true, false},
		{"file://elsewhere/run/bus", "", true, true},
		{"file://", "", true, true},
		{"file:", "", true, true},
		{"file:///run/bus?x=1", "", true, true},
		{"file:///run/bus#x", "", true, true},
		{"file:///%zz", "", true, true},
		{"etcd://a/x", "", false, false},
	}
	for _, test := range tests {
		path, is, err := directory.Folder(test.bus)
		if path != test.path || is != test.is || test.fails != errors.Is(err, directory.ErrInvalidURL) || !test.fails && err != nil {
			t.Errorf("%q: got %q, %v and error %v, want %q, %v, and an error: %v", test.bus, path, is, err, test.path, test.is, test.fails)
		}
	}
}

// kinds counts the kinds of directories that tests have registered, each once per process.
var kinds atomic.Int32

func TestOpen_aKindOfDirectoryByItsURL(t *testing.T) {
	scheme := fmt.Sprintf("test-open-%d", kinds.Add(1))
	settings := directory.Settings{Expiry: time.Minute}
	var url string
	directory.Register(scheme, func(u string, s directory.Settings) (directory.Opened, error) {
		if url = u; s != settings {
			t.Errorf("got %v, want %v", s, settings)
		}
		return memory.New(), nil
	})
	if !slices.Contains(directory.Schemes(), scheme) {
		t.Errorf("got %q, want %s in it", directory.Schemes(), scheme)
	}
	name := strings.ToUpper(scheme) + "://a,b/x"
	d, err := directory.Open(name, settings)
	if err != nil || url != name {
		t.Fatalf("got error %v and URL %q, want that of the call", err, url)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	for _, taken := range []string{scheme, "file", ""} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was registered twice, want a panic", taken)
				}
			}()
			directory.Register(taken, nil)
		}()
	}
}

func TestOpen_namesAnUnknownKind(t *testing.T) {
	for url, want := range map[string]string{
		"etcd://a/x": "it is in publisher-etcd, subscriber-etcd and tagbus-etcd, and in programs that import tagbus/directory/etcd",
		"nats://a/x": "want the path of a folder, file:///path or etcd://HOST,HOST/NAME",
	} {
		_, err := directory.Open(url, directory.Settings{})
		lacks := (*directory.UnknownSchemeError)(nil)
		if !errors.Is(err, directory.ErrUnknownScheme) || !errors.As(err, &lacks) || lacks.Scheme != directory.Scheme(url) || lacks.URL != url {
			t.Errorf("%s: got %v, want an *UnknownSchemeError with it", url, err)
		} else if !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: got %v, want that it ends in %q", url, err, want)
		}
	}
}
