// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/options"
	"tagbus/internal/testkit"
)

func TestABusIsAFolderOrAURL(t *testing.T) {
	tests := []struct {
		bus  string
		want string // "": it is right
		is   error
	}{
		{"/run/bus", "", nil},
		{"bus", "", nil},
		{"a:b", "", nil},
		{"file:///run/bus", "", nil},
		{"file:bus", "", nil},
		{"FILE:///run/bus", "", nil},
		{"file://elsewhere/run/bus", `--bus: "file://elsewhere/run/bus" names the host "elsewhere": want file:///path, the path of a folder as this host sees it`, directory.ErrInvalidURL},
		{"file:///run/bus?x=y", `--bus: "file:///run/bus?x=y": want file:///path, the path of a folder and nothing behind it`, directory.ErrInvalidURL},
		{"nats://a,b/x", `--bus: directory: this program does not have this kind of directory: "nats://a,b/x": want the path of a folder, file:///path or etcd://HOST,HOST/NAME`, directory.ErrUnknownScheme},
		{"etcd://me:secret@a,b/x", "--bus: the URL has a user in it, whose password all users of the host would see: leave USER:PASSWORD@ out", directory.ErrInvalidURL},
		{"nats://secret@a", "--bus: the URL has a user in it, whose password all users of the host would see: leave USER:PASSWORD@ out", directory.ErrInvalidURL},
	}
	for _, test := range tests {
		switch err := options.CheckBus(test.bus); {
		case test.want == "" && err != nil:
			t.Errorf("%s: got %v, want that it is right", test.bus, err)
		case test.want != "" && (!errors.Is(err, test.is) || Text(err) != test.want):
			t.Errorf("%s: got %v, want %s", test.bus, err, test.want)
		case test.want != "" && Code(err) != ExitUsage:
			t.Errorf("%s: got status %d, want %d", test.bus, Code(err), ExitUsage)
		}
	}
}

// beside returns the path of a program in a folder of its own, with others beside it.
func beside(t *testing.T, name string, others ...string) (path string) {
	t.Helper()
	folder := t.TempDir()
	for _, n := range append(others, name) {
		testkit.Must(t, os.WriteFile(filepath.Join(folder, n), nil, 0o700))
	}
	return filepath.Join(folder, name)
}

func TestAProgramHandsOverToTheOneBesideIt(t *testing.T) {
	lacks := &directory.UnknownSchemeError{Scheme: "etcds", URL: "etcds://a/x"}
	link := beside(t, "publisher")
	testkit.Must(t, os.Symlink("publisher", link+"-etcd"))
	const install = ": install the package tagbus-etcd"
	tests := []struct {
		name    string
		program string // of the help
		self    string
		exec    error  // what it returns
		ran     string // name of the other program; "": none
		want    string // end of the error
	}{
		{"it is there", "publisher", beside(t, "publisher", "publisher-etcd", "tagbus-etcd"), syscall.ENOEXEC, "publisher-etcd", "/publisher-etcd cannot be started: exec format error" + install},
		{"a command of tagbus", "tagbus publish", beside(t, "tagbus", "tagbus-etcd"), syscall.EACCES, "tagbus-etcd", "/tagbus-etcd cannot be started: permission denied" + install},
		{"it is not there", "publisher", beside(t, "publisher", "tagbus-etcd"), nil, "", "/publisher" + install},
		{"a copy of this one", "publisher", beside(t, "publisher-etcd"), nil, "", "/publisher-etcd is another program of that name" + install},
		{"a link to this one", "publisher", link, nil, "", "/publisher-etcd is a link to a file of another name" + install},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran string
			s := starter{
				executable: func() (string, error) { return test.self, nil },
				args:       []string{"x", "--bus", lacks.URL, "--tags=5"},
				exec: func(path string, args, env []string) error {
					ran = path
					if !slices.Equal(args, []string{path, "--bus", lacks.URL, "--tags=5"}) || !slices.Equal(env, os.Environ()) {
						t.Errorf("got %q and %d variables, want the arguments and the environment of this process", args, len(env))
					}
					return test.exec
				},
			}
			want := ""
			if test.ran != "" {
				want = filepath.Join(filepath.Dir(test.self), test.ran)
			}
			err := s.handOver(Program{Name: test.program}, lacks)
			if ran != want {
				t.Errorf("%q ran, want %q", ran, want)
			}
			if !errors.Is(err, directory.ErrUnknownScheme) || !strings.HasSuffix(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "--bus: this program has no directory of the kind etcds://: ") {
				t.Errorf("got %v, want that it ends in %s", err, test.want)
			}
		})
	}
	s := starter{executable: func() (string, error) { return "", errors.New("no /proc") }}
	if err := s.handOver(Program{Name: "publisher"}, lacks); !strings.Contains(err.Error(), "publisher-etcd has it, the folder of this program is not known: no /proc") {
		t.Errorf("got %v, want that the folder is not known", err)
	}
	other := &directory.UnknownSchemeError{Scheme: "nats", URL: "nats://a"}
	if err := s.handOver(Program{Name: "publisher"}, other); !errors.Is(err, directory.ErrUnknownScheme) || !strings.HasPrefix(err.Error(), "--bus: ") {
		t.Errorf("a kind that no program has: got %v, want ErrUnknownScheme", err)
	}
}

// The flag is checked when the line is read, and what is wrong says where it comes from.
func TestABusIsCheckedWhenTheLineIsRead(t *testing.T) {
	t.Setenv("TAGBUS_BUS", "nats://a/x")
	var errs bytes.Buffer
	code, run := Parse(Program{Name: "tool"}, new(Common), nil, Streams{Err: &errs})
	if want := "(--bus is from TAGBUS_BUS)\ntool: see tool --help\n"; code != ExitUsage || run || !strings.HasSuffix(errs.String(), want) {
		t.Errorf("got %d and %q, want %d and %q at the end", code, &errs, ExitUsage, want)
	}
}

func TestTheBridgeIsRunBesideTheProgram(t *testing.T) {
	self := beside(t, "tagbus", "tagbus-bridge")
	var ran []string
	s := starter{
		executable: func() (string, error) { return self, nil },
		exec: func(_ string, args, _ []string) error {
			ran = args
			return syscall.ENOEXEC
		},
	}
	if err := s.runBridge([]string{"convert", "x"}); !strings.HasSuffix(err.Error(), "cannot be started: exec format error: install the package tagbus-bridge") {
		t.Errorf("got %v, want that it cannot be started", err)
	}
	if want := []string{filepath.Join(filepath.Dir(self), "tagbus-bridge"), "convert", "x"}; !slices.Equal(ran, want) {
		t.Errorf("got %q, want %q", ran, want)
	}
	self = beside(t, "tagbus")
	if err := s.runBridge(nil); !strings.HasPrefix(err.Error(), "tagbus-bridge reads durable logs, which is not beside "+self) {
		t.Errorf("got %v, want that it is not there", err)
	}
}
