// SPDX-License-Identifier: Apache-2.0

//go:build linux

package targets

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"tagbus/bus/directory"
	"tagbus/bus/directory/signed"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
)

func entry(instance, name, host, monitor string, role directory.Role) directory.Entry {
	e := directory.Entry{Instance: instance, Name: name, Host: host, Role: role}
	if monitor != "" {
		e.Monitor = netip.MustParseAddrPort(monitor)
	}
	return e
}

func site() []directory.Entry {
	return []directory.Entry{
		entry("i1", "felix-07", "pc-07", "10.0.0.7:9100", directory.Publisher),
		entry("i2", "felix-07b", "pc-07", "10.0.0.7:9100", directory.Publisher),
		entry("i3", "", "pc-02", "[fd00::2]:9100", directory.Receiver),
		entry("i4", "silent", "pc-03", "", directory.Publisher),
		entry("i5", "own", "here", "127.0.0.1:9101", directory.Publisher),
		entry("i6", "loop", "pc-04", "127.0.0.1:9101", directory.Publisher),
		entry("i7", "loop", "pc-04", "[::ffff:127.0.0.1]:9102", directory.Publisher),
	}
}

const siteList = `[
  {"targets":["127.0.0.1:9101"],"labels":{"__meta_tagbus_host":"here","__meta_tagbus_instance":"i5","__meta_tagbus_name":"own","__meta_tagbus_role":"publisher"}},
  {"targets":["[fd00::2]:9100"],"labels":{"__meta_tagbus_host":"pc-02","__meta_tagbus_instance":"i3","__meta_tagbus_name":"","__meta_tagbus_role":"receiver"}},
  {"targets":["10.0.0.7:9100"],"labels":{"__meta_tagbus_host":"pc-07","__meta_tagbus_instance":"i1,i2","__meta_tagbus_name":"felix-07,felix-07b","__meta_tagbus_role":"publisher"}}
]
`

const siteNotes = `1 program without metrics: start them with --metrics
2 programs of other hosts with metrics that only their own host reaches: give --metrics an address of the network
`

// run is a command that looks at what a test gives it.
func run(c Command) (l *lister, out, notes *bytes.Buffer) {
	out, notes = new(bytes.Buffer), new(bytes.Buffer)
	env := &tool.Env{Flags: &tool.Flags{Bus: "/run/bus"}, Streams: cli.Streams{Out: out, Err: notes}}
	return &lister{Command: &c, env: env, host: "here"}, out, notes
}

func TestTargets(t *testing.T) {
	l, out, notes := run(Command{})
	testkit.Must(t, l.show(out, site(), nil))
	if diff := cmp.Diff(siteList, out.String()); diff != "" {
		t.Errorf("got other targets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(siteNotes, notes.String()); diff != "" {
		t.Errorf("got other notes (-want +got):\n%s", diff)
	}
	var read []Group
	if err := json.Unmarshal(out.Bytes(), &read); err != nil || len(read) != 3 {
		t.Errorf("got %d targets, %v, from what was written", len(read), err)
	}
}

func TestNoTargets(t *testing.T) {
	l, out, notes := run(Command{})
	if err := l.show(out, nil, nil); err != nil || out.String() != "[]\n" || notes.Len() > 0 {
		t.Errorf("got %v, %q, %q, want an empty list", err, out, notes)
	}
	problem := errors.New("no servers")
	if err := l.show(out, nil, problem); !errors.Is(err, problem) {
		t.Errorf("got %v, want the problem of the directory", err)
	}
}

// TestTheFileIsReplaced when the targets have changed, and stays when nothing is known.
func TestTheFileIsReplaced(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "targets.json")
	l, out, notes := run(Command{Output: name, Watch: 1})
	read := func() string {
		t.Helper()
		text, err := os.ReadFile(name)
		testkit.Must(t, err)
		return string(text)
	}
	must := func(err error) {
		t.Helper()
		testkit.Must(t, err)
	}
	must(l.show(out, site(), nil))
	if got := read(); got != siteList {
		t.Errorf("got %s in the file", got)
	}
	first, err := os.Stat(name)
	must(err)
	must(l.show(out, site(), nil))
	must(l.show(out, nil, errors.New("no servers")))
	must(l.show(out, nil, errors.New("no servers")))
	second, err := os.Stat(name)
	must(err)
	if !os.SameFile(first, second) || read() != siteList {
		t.Error("got the file written again, want it as it was")
	}
	if second.Mode().Perm() != 0o644 {
		t.Errorf("got mode %v, want one that others can read", second.Mode())
	}
	must(l.show(out, site()[2:3], nil))
	if got := read(); strings.Count(got, "targets") != 1 {
		t.Errorf("got %s in the file, want one target", got)
	}
	if want := siteNotes + "no servers\n"; notes.String() != want || out.Len() > 0 {
		t.Errorf("got notes %q and output %q, want each note once", notes, out)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("got files %v, %v, want the one", files, err)
	}
}

// TestTargetsStayThatMayBeMissing while the directory does not answer, and go when it does.
func TestTargetsStayThatMayBeMissing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "targets.json")
	moved := site()[2:3]
	moved[0].Name = "new"
	away := errors.New("file system does not answer")
	all := strings.Replace(siteList, `name":""`, `name":"new"`, 1)
	lines := strings.SplitAfter(all, "\n")
	one := "[\n" + strings.TrimSuffix(lines[2], ",\n") + "\n]\n"
	refused := errors.Join(&signed.RefusedError{Instance: "i2", Err: away}, directory.ErrHidden)
	for _, c := range []struct {
		watch   tool.Watch
		problem error
		status  error
		want    string
	}{
		{1, away, nil, all},
		{0, away, &tool.StatusError{Code: cli.ExitFailed}, all},
		{1, refused, nil, "[\n" + lines[2] + lines[3] + "]\n"},
		{1, directory.ErrHidden, nil, one},
		{0, directory.ErrHarmless, nil, one},
	} {
		testkit.Must(t, os.WriteFile(name, []byte(siteList), 0o644)) // of a run before
		l, out, notes := run(Command{Output: name, Watch: c.watch})
		l.read()
		if err := l.show(out, moved, c.problem); !cmp.Equal(err, c.status) || notes.String() != cli.Text(c.problem)+"\n" {
			t.Errorf("watch %v, %v: got %v and notes %q, want %v", c.watch, c.problem, err, notes, c.status)
		}
		got, err := os.ReadFile(name)
		testkit.Must(t, err)
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("watch %v, %v: got another file (-want +got):\n%s", c.watch, c.problem, diff)
		}
	}
}

// TestAPipeHasNoTargets, and is not read: it is replaced, as any file.
func TestAPipeHasNoTargets(t *testing.T) {
	name := filepath.Join(t.TempDir(), "targets.json")
	testkit.Must(t, unix.Mkfifo(name, 0o600))
	l, out, _ := run(Command{Output: name, Watch: 1})
	l.read()
	testkit.Must(t, l.show(out, site(), nil))
	if got, err := os.ReadFile(name); err != nil || string(got) != siteList {
		t.Errorf("got %s, %v, want the list in place of the pipe", got, err)
	}
}

// TestAnotherFileHasNoTargets that stay.
func TestAnotherFileHasNoTargets(t *testing.T) {
	for _, text := range []string{"", "{", "[{}, 1]", `[{"targets":[]},{"targets":["a","b"]}]`} {
		name := filepath.Join(t.TempDir(), "targets.json")
		testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
		l, out, _ := run(Command{Output: name, Watch: 1})
		l.read()
		testkit.Must(t, l.show(out, site()[2:3], errors.New("no servers")))
		if got, err := os.ReadFile(name); err != nil || strings.Count(string(got), "targets") != 1 {
			t.Errorf("%q: got %s, %v, want one target", text, got, err)
		}
	}
}

func TestAFileThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{filepath.Join(folder, "none", "x"), folder} {
		l, out, _ := run(Command{Output: name})
		if err := l.show(out, site(), nil); err == nil || !strings.HasPrefix(err.Error(), "--output: ") {
			t.Errorf("%s: got %v, want an error of --output", name, err)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 0 {
		t.Errorf("got files %v, %v, want none left", files, err)
	}
	if err := (&Command{Output: "x/"}).Check(); err == nil {
		t.Error("got nil for a folder, want an error")
	}
}
