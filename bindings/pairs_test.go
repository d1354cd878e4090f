// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
	"tagbus/internal/testkit/pki"
)

// examples are in the folder examples of each language, with one command line.
var examples = []string{"receiver", "sender", "request", "readout", "monitor"}

// language is a language, and how it starts an example.
type language struct {
	name  string
	start func(example string) []string
	env   []string
	kept  *workers // processes that run one example after another; nil: each has its own
}

// languages builds the examples of all languages that are there.
func languages(t *testing.T) []language {
	t.Helper()
	lib := clib.Build(t)
	all := []language{golang(t, "examples", "", "./go/examples/..."), compiled(t, lib, "c", "gcc", "-std=c11")}
	if testkit.All() {
		all = append(all, compiled(t, lib, "cpp", "g++", "-std=c++17"))
	} else {
		all = append(all, together(t, lib))
	}
	if python, ok := python(t, lib); ok {
		all = append(all, python)
	}
	return all
}

// compiled compiles each example to a program.
func compiled(t *testing.T, lib, name, compiler, standard string) language {
	t.Helper()
	programs := map[string]string{}
	for _, example := range examples {
		args := append([]string{standard, "-O0", "-Ibindings/cpp"}, strict...)
		args = append(args, "bindings/"+name+"/examples/"+example+"."+name)
		programs[example] = clib.Compile(t, compiler, example, append(args, clib.Link(lib)...)...)
	}
	return language{name, func(example string) []string { return []string{programs[example]} }, nil, nil}
}

// together compiles the examples in C++ to one program.
func together(t *testing.T, lib string) language {
	t.Helper()
	args := append([]string{"-std=c++17", "-O0", "-g0", "-Ibindings/cpp"}, strict...)
	args = append(args, "bindings/testdata/examples.cpp")
	program := clib.Compile(t, "g++", "examples", append(args, clib.Link(lib)...)...)
	return language{"cpp", func(example string) []string { return []string{program, example} }, nil, nil}
}

// golang builds the examples in Go, at a place where those that are there are not linked again.
//
//   - place: a folder below bin.
//   - dir: where go build runs; empty: here.
//   - how: its arguments, the last of which name the packages.
func golang(t *testing.T, place, dir string, how ...string) language {
	t.Helper()
	testkit.DependsOnTree()
	bin := filepath.Join(clib.Root(t), "bin", place)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin + "/"}, how...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return language{"go", func(example string) []string { return []string{filepath.Join(bin, example)} }, nil, nil}
}

// talk is two examples that talk to each other, and what they print.
type talk struct {
	first, second         []string
	firstSays, secondSays string
}

var talks = []talk{
	{[]string{"monitor", "0x1000-0x10ff", "5000"}, []string{"readout", "0x1001", "5000", "40"}, "received 5000 messages, 200000 bytes, 0 lost\n", "published 5000 messages\n"},
	{[]string{"receiver", "0x2000-0x20ff", "1000"}, []string{"sender", "0x2001", "1000"}, "received 1000 messages, 10893 bytes\n", "sent 1000 messages\n"},
	{[]string{"request", "device", "100"}, []string{"request", "ask", "100"}, "answered 100 commands\n", "asked 100 times\n"},
}

// TestExamples runs all pairs of languages, over a folder and tcp, and over tls: there a language with its
// neighbour only. Each pair has one talk, so that each language has each part in each talk; all
// of them with TAGBUS_TESTS=all.
func TestExamples(t *testing.T) {
	all := languages(t)
	authority := pki.NewCA(t, "site")
	peer := authority.Issue(t, "uri:spiffe://test/peer")
	dir := t.TempDir()
	certificates := "--cert " + pki.Write(t, dir, "peer.pem", pki.PEM(peer)) + " --key " + pki.Write(t, dir, "peer.key", peer.KeyPEM(t)) +
		" --ca " + pki.Write(t, dir, "ca.pem", pki.PEM(authority))
	for i, first := range all {
		for j, second := range all {
			name := first.name + "-" + second.name
			t.Run("tcp/"+name, func(t *testing.T) { t.Parallel(); converse(t, first, second, folder(t), "", i+j) })
			if testkit.All() || j == (i+1)%len(all) {
				t.Run("tls/"+name, func(t *testing.T) { t.Parallel(); converse(t, first, second, folder(t), certificates, 0) })
			}
		}
	}
}

// folder returns the URL of a bus of its own.
func folder(t *testing.T) string { return filepath.Join(t.TempDir(), "bus") }

// converse has the examples of one language talk to those of another.
//
//   - bus: of its own; each talk has tags of its own.
//   - turn: which talk, unless TAGBUS_TESTS=all.
func converse(t *testing.T, first, second language, bus, options string, turn int) {
	t.Helper()
	for i, talk := range talks {
		if i != turn%len(talks) && !testkit.All() {
			continue
		}
		a := begin(t, first, bus, options, talk.first)
		if talk.first[0] == "request" { // the other one waits for a minute only
			listed(t, bus, 2)
		}
		b := begin(t, second, bus, options, talk.second)
		a.ends(t, talk.firstSays)
		b.ends(t, talk.secondSays)
	}
}

// listed waits until so many publishers and receivers are listed.
func listed(t *testing.T, bus string, n int) {
	t.Helper()
	d, err := file.Open(bus, file.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	appeared := make(chan struct{}, 16)
	stop, err := d.Watch(func(e directory.Event) {
		if e.Kind == directory.Appeared {
			appeared <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	late := time.After(2 * time.Minute)
	for range n {
		select {
		case <-appeared:
		case <-late:
			t.Fatalf("fewer than %d entries are listed", n)
		}
	}
}

// running is an example that runs.
type running interface {
	// ends waits for its end, and checks what it has printed.
	ends(t *testing.T, want string)
}

// program is one with a process of its own.
type program struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func begin(t *testing.T, l language, bus, options string, words []string) running {
	t.Helper()
	args := append([]string{bus}, words[1:]...)
	if options != "" {
		args = append(args, options)
	}
	if l.kept != nil {
		return l.kept.begin(t, words[0], args)
	}
	args = append(l.start(words[0]), args...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	p := &program{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	p.cmd.Env = append(os.Environ(), l.env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *program) ends(t *testing.T, want string) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil || p.out.String() != want {
		t.Errorf("%s: got %v and %q, want %q\n%s", strings.Join(p.cmd.Args, " "), err, p.out.String(), want, p.err.String())
	}
}
