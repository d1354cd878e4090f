// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/directory/etcd"
)

// secret must stand in no error.
const secret = "hunter2"

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParseURL_urls(t *testing.T) {
	password := write(t, secret+"\r\nand more\n")
	tests := []struct {
		url  string
		want etcd.Config
	}{
		{"etcd://a/bus", etcd.Config{Endpoints: []string{"a:2379"}, Prefix: "/tagbus/bus/"}},
		{"ETCD://a/bus/", etcd.Config{Endpoints: []string{"a:2379"}, Prefix: "/tagbus/bus/"}},
		{
			"etcd://a:1,b.example,10.0.0.1:65535,[::1],[fe80::1%25eth0]:7/run-2_X",
			etcd.Config{Endpoints: []string{"a:1", "b.example:2379", "10.0.0.1:65535", "[::1]:2379", "[fe80::1%eth0]:7"}, Prefix: "/tagbus/run-2_X/"},
		},
		{
			"etcd://a/bus?user=daq&password-file=" + password,
			etcd.Config{Endpoints: []string{"a:2379"}, Prefix: "/tagbus/bus/", User: "daq", Password: secret},
		},
	}
	for _, test := range tests {
		got, err := etcd.ParseURL(test.url)
		if err != nil {
			t.Errorf("%s: got %v, want nil", test.url, err)
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.url, diff)
		}
	}
	if got, err := etcd.ParseURL("etcds://a/bus"); err != nil || got.TLS == nil || got.TLS.RootCAs != nil || got.TLS.InsecureSkipVerify {
		t.Errorf("got %+v, %v, want TLS with the certificates that the system trusts", got, err)
	}
}

func TestParseURL_urlsThatMakeNoSense(t *testing.T) {
	tests := []struct{ url, want string }{
		{"nats://a/bus", "want etcd://"},
		{"/some/folder", "want etcd://"},
		{"etcd://a", "name of the bus"},
		{"etcd://a/", "name of the bus"},
		{"etcd://a/b/c", "name of the bus"},
		{"etcd://a/" + strings.Repeat("x", 65), "name of the bus"},
		{"etcd:///bus", `"" is no host`},
		{"etcd://a,/bus", `"" is no host`},
		{"etcd://a,,b/bus", `"" is no host`},
		{"etcd://a:0/bus", `"a:0" is no host`},
		{"etcd://a:65536/bus", `"a:65536" is no host`},
		{"etcd://a:http/bus", `"a:http" is no host`},
		{"etcd://::1/bus", `"::1" is no host`},
		{"etcd://[::1/bus", `"[::1" is no host`},
		{"etcd://a b/bus", `"a b" is no host`},
		{"etcd://a\x1b/bus", `is no host`},
		{"etcd://me:" + secret + "@a/bus", "a user stands in front of the hosts"},
		{"etcd://a/bus#" + secret, "fragment"},
		{"etcd://me:" + secret + "@a/bus#x", "fragment"},
		{"etcd://a/bus?password=" + secret, "a password stands in the URL"},
		{"etcd://a/bus?passwd=" + secret, `"passwd" is no option`},
		{"etcd://a/bus?user=daq", "user and password-file"},
		{"etcd://a/bus?password-file=/x", "user and password-file"},
		{"etcd://a/bus?user=a&user=b", "user must be given once"},
		{"etcd://a/bus?user=", "user must be given once"},
		{"etcd://a/bus?user=%zz" + secret, "cannot be read"},
		{"etcd://a/bus?ca=x", "write etcds://"},
		{"etcds://a/bus?cert=x", "cert and key"},
		{"etcds://a/bus?key=x", "cert and key"},
	}
	for _, test := range tests {
		for name, parse := range map[string]func() error{
			"ParseURL": func() error { _, err := etcd.ParseURL(test.url); return err },
			"Open":     func() error { _, err := etcd.OpenURL(test.url, directory.Settings{}); return err },
		} {
			err := parse()
			if !errors.Is(err, directory.ErrInvalidURL) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s of %q: got %v, want ErrInvalidURL with %q", name, test.url, err, test.want)
				continue
			}
			if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s of %q: got %v, want no secret and no escape in it", name, test.url, err)
			}
		}
	}
}

func TestParseURL_files(t *testing.T) {
	rubbish, missing := write(t, "rubbish\n"), filepath.Join(t.TempDir(), "missing")
	empty := write(t, "\nsecond line\n")
	for _, test := range []struct{ url, want string }{
		{"etcds://a/bus?ca=" + rubbish, "no certificate"},
		{"etcds://a/bus?ca=" + missing, "missing"},
		{"etcds://a/bus?cert=" + rubbish + "&key=" + rubbish, "failed to find"},
		{"etcds://a/bus?cert=" + missing + "&key=" + rubbish, "missing"},
		{"etcd://a/bus?user=daq&password-file=" + missing, "missing"},
		{"etcd://a/bus?user=daq&password-file=" + empty, "first line"},
	} {
		if _, err := etcd.ParseURL(test.url); !errors.Is(err, etcd.ErrConfig) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want ErrConfig with %q", test.url, err, test.want)
		}
	}
}

// TestOpen_theSchemesAreRegistered: a program that imports the package has it, and opening waits
// for no server.
func TestOpen_theSchemesAreRegistered(t *testing.T) {
	for _, url := range []string{"etcd://127.0.0.1:1,127.0.0.1:2/bus", "etcds://127.0.0.1:1/bus"} {
		d, err := directory.Open(url, directory.Settings{Expiry: time.Minute})
		if err != nil {
			t.Fatalf("%s: got %v, want nil", url, err)
		}
		if _, ok := d.(*etcd.Directory); !ok {
			t.Errorf("%s: got a %T, want one of this package", url, d)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: got %v from Close, want nil", url, err)
		}
	}
	if _, err := directory.Open("etcd://a/bus", directory.Settings{Expiry: time.Second}); !errors.Is(err, etcd.ErrConfig) {
		t.Errorf("got %v for an expiry of 1s, want ErrConfig", err)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{
		"etcd://a,b:1,[::1]:2/bus?user=x&password-file=/dev/null", "etcds://a/bus?ca=/dev/null", "etcd://a/bus#x", "etcd://me:pw@a/bus",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		if strings.Contains(url, "=") {
			return // it reads files
		}
		c, err := etcd.ParseURL(url)
		if err != nil {
			if !errors.Is(err, directory.ErrInvalidURL) {
				t.Fatalf("got %v, want ErrInvalidURL", err)
			}
			return
		}
		if err := c.Validate(); err != nil && len(c.Endpoints) <= 64 {
			t.Fatalf("got a config that is refused: %v", err)
		}
	})
}
