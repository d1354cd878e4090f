// SPDX-License-Identifier: Apache-2.0

// Package scripts_test runs publisher and subscriber as processes on loopback,
// as the scripts in testdata say.
package scripts_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/cmd/internal/tagbus"
	"tagbus/internal/stuck"
)

// raceOptions keep each process from sleeping for a second at its end.
const raceOptions = "atexit_sleep_ms=10"

// The main goroutine stays on the first thread, as in the programs: see stuck.Main.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if !slices.Contains([]string{"publisher", "subscriber", "tagbus"}, filepath.Base(os.Args[0])) {
		takeSignals()
	}
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	command := func(main func() int) func() { return func() { os.Exit(stuck.Main(main)) } }
	testscript.Main(m, map[string]func(){
		"publisher": command(func() int { return publish.Main(withBackend(os.Args[1:], true), streams) }),
		"subscriber": command(func() int {
			return subscribe.Main(withBackend(os.Args[1:], slices.Contains(os.Args, "--receive")), streams)
		}),
		"tagbus": command(func() int { return tagbus.Main(withBackend(os.Args[1:], false), streams) }),
	})
}

// shortScripts are those that are run with -short: what a network can do to the
// commands, for one that is slow, as an emulated device is.
var shortScripts = []string{"file", "kill", "receive", "restart"}

func TestScripts(t *testing.T) {
	p := params("testdata")
	if testing.Short() {
		p.Dir = ""
		for _, name := range shortScripts {
			p.Files = append(p.Files, filepath.Join("testdata", name+".txtar"))
		}
	}
	testscript.Run(t, p)
}

// TestScriptsOfThisBuild are about the backends that the programs are built with.
func TestScriptsOfThisBuild(t *testing.T) {
	testscript.Run(t, params(filepath.Join("testdata", buildScripts)))
}

// params says how the scripts of a folder run.
func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"start":    start,
			"expect":   expect,
			"send":     send,
			"signal":   sendSignal,
			"finish":   finish,
			"random":   random,
			"json":     checkJSON,
			"takeport": takePort,
			"mkfifo":   makeFIFO,
			"scrape":   scrape,
			"healthy":  healthy,
			"api":      askAPI,
			"entry":    announceEntry,

			"recording": writeRecording,
			"truncate":  truncateFile,
			"recorded":  makeRecording,
		},
		Setup: func(env *testscript.Env) error {
			all := &processes{byName: make(map[string]*process)}
			env.Values[processesKey{}] = all
			env.Defer(all.killAll)
			// 16 tags, as a ProtoDUNE front end has.
			env.Setenv("TAGS", "0x1000013000118000-0x100001300011800f")
			env.Setenv("GORACE", raceOptions)
			env.Setenv("BACKEND", testBackend())
			env.Setenv("HOST", testHost())
			for _, name := range []string{"NETIO_RDMA_PROV", addressVariable} { // which commands of exec ask for, too
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
	}
}

// random FILE BYTES writes bytes that are the same in every run.
func random(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: random FILE BYTES")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	source := rand.NewPCG(uint64(n), 7)
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(source.Uint64() >> 32)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

// json FILE KEY=VALUE... reads a file of one line, an object, and compares the
// values of some keys, printed as Go does. A key without value must be there.
func checkJSON(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: json FILE KEY=VALUE...")
	}
	text := ts.ReadFile(args[0])
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("got %q, want one line", text)
	}
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(text), &object))
	for _, arg := range args[1:] {
		key, want, compare := strings.Cut(arg, "=")
		got, ok := object[key]
		if !ok {
			ts.Fatalf("got no %q in %s", key, text)
		}
		if f, ok := got.(float64); ok {
			got = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if compare && fmt.Sprint(got) != want {
			ts.Fatalf("%s: got %v, want %s in %s", key, got, want, text)
		}
	}
}

// takeport NAME listens on a port of $HOST until the script ends, and puts
// the port into an environment variable.
func takePort(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: takeport NAME")
	}
	listener, err := net.Listen("tcp", testHost()+":0")
	ts.Check(err)
	ts.Defer(func() { listener.Close() })
	ts.Setenv(args[0], strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
}

// mkfifo FILE makes a named pipe.
func makeFIFO(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: mkfifo FILE")
	}
	ts.Check(unix.Mkfifo(ts.MkAbs(args[0]), 0o600))
}

// TestScriptsAreComplete keeps a renamed directory from passing for success.
func TestScriptsAreComplete(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) < 10 {
		t.Errorf("got %d scripts and error %v, want at least 10", len(files), err)
	}
}
