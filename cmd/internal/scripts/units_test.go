// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/internal/testkit"
)

// units is where the units are, with examples of the files that they read.
var units = filepath.Join("..", "..", "..", "deploy", "systemd")

// systemd returns systemd-analyze and a root in which the units and the programs are
// installed.
func systemd(t *testing.T) (analyze, root string) {
	t.Helper()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze (Debian: systemd)")
	}
	root = t.TempDir()
	testkit.Must(t, os.CopyFS(filepath.Join(root, "usr/lib/systemd/system"), os.DirFS(units)))
	// What the units are ordered after, and belong to.
	for _, name := range []string{"network-online.target", "remote-fs.target", "basic.target", "sysinit.target", "multi-user.target", "shutdown.target", "-.mount", "-.slice", "tmp.mount", "system.slice"} {
		writeFile(t, filepath.Join(root, "usr/lib/systemd/system", name), "[Unit]\nDescription=of the host\n", 0o644)
	}
	for _, name := range []string{"publisher", "subscriber"} {
		writeFile(t, filepath.Join(root, "usr/bin", name), "#!/bin/sh\n", 0o755)
	}
	writeFile(t, filepath.Join(root, "bin/sh"), "a shell\n", 0o755) // of ExecReload
	return analyze, root
}

func writeFile(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	testkit.Must(t, os.WriteFile(name, []byte(text), mode))
}

func TestSystemdTakesTheUnits(t *testing.T) {
	analyze, root := systemd(t)
	for _, unit := range []string{"tagbus-publisher@demo.service", "tagbus-subscriber@demo.service"} {
		t.Run(unit, func(t *testing.T) {
			out, err := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", "--root="+root, unit).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("got error %v and\n%s", err, out)
			}
		})
	}
}

// TestTheServicesAreConfined: systemd gives 10 to a service that may do anything.
func TestTheServicesAreConfined(t *testing.T) {
	analyze, root := systemd(t)
	for _, unit := range []string{"tagbus-publisher@.service", "tagbus-subscriber@.service"} {
		t.Run(unit, func(t *testing.T) {
			const most = "15" // tenths
			out, err := exec.Command(analyze, "security", "--offline=yes", "--threshold="+most, "--root="+root, unit).CombinedOutput()
			if err != nil {
				t.Errorf("its exposure is above %s tenths (%v):\n%s", most, err, out)
			}
		})
	}
}

// TestTheUnitsDifferOnlyInTheProgram keeps what is changed in one from being forgotten in
// the other.
func TestTheUnitsDifferOnlyInTheProgram(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(units, "tagbus-"+name+"@.service"))
		testkit.Must(t, err)
		return strings.ReplaceAll(string(text), name, "PROGRAM")
	}
	if diff := cmp.Diff(read("publisher"), read("subscriber")); diff != "" {
		t.Errorf("that of the publisher (-) and that of the subscriber (+) differ:\n%s", diff)
	}
}

// example returns the flags that an example of /etc/tagbus sets as variables.
func example(t *testing.T, name string, model func() (*kong.Application, error)) (args []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(units, name))
	testkit.Must(t, err)
	app, err := model()
	testkit.Must(t, err)
	known := make(map[string]bool)
	for _, f := range app.Flags {
		known[f.Name] = true
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		variable, value, _ := strings.Cut(line, "=")
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "TAGBUS_")), "_", "-")
		if !strings.HasPrefix(variable, "TAGBUS_") || !known[flag] {
			t.Fatalf("%s: %s is the variable of no flag", name, variable)
		}
		args = append(args, "--"+flag+"="+value)
	}
	return args
}

func TestTheExamplesOfTheServicesWork(t *testing.T) {
	bus := t.TempDir()
	s := run(t, "subscriber", append([]string{"subscriber", "--bus", bus, "--count", "100"}, example(t, "subscriber-demo.env", subscribe.Model)...)...)
	s.await(`waiting for publishers`)
	run(t, "publisher", append([]string{"publisher", "--bus", bus}, example(t, "publisher-demo.env", publish.Model)...)...)
	<-s.ended
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the subscriber ends with %d, want 0", code)
	}
	s.await(` subscriber: 100 messages, .* 0 lost, 0 corrupt, 0 duplicates; ended by count$`)
}
