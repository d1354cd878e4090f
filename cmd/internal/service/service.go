// SPDX-License-Identifier: Apache-2.0

// Package service runs a program of another module that works on a bus. It has the flags of all commands, and the
// program brings its commands with theirs.
package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/internal/stream"
	"tagbus/node"
)

// Command is one command of the program: a pointer to a struct of flags, as kong takes it.
type Command interface {
	// Check reports what is wrong with the flags together.
	Check() error

	// Run does the work until it is done or ctx ends, by a signal or --duration.
	//
	//   - Result: what is printed at the end, by String or with --json as JSON; nil: nothing.
	//   - Errors: any makes the exit status 1.
	Run(ctx context.Context, e *Env) (summary fmt.Stringer, err error)
}

// Busless is a Command that may need no bus: then --bus may be missing, and Env.Node is nil.
type Busless interface {
	// NeedsBus reports whether --bus is missing if it is not given.
	NeedsBus() bool
}

// busless reports whether a command needs no bus.
func busless(command any) bool {
	b, ok := command.(Busless)
	return ok && !b.NeedsBus()
}

// Env is what a Command runs with.
//
// Threads: any, for the methods.
type Env struct {
	Node    *node.Node      // nil: the command is Busless
	Name    string          // of --name; empty: none was given
	Monitor netip.AddrPort  // where the metrics are, for bus.Common; not valid: nowhere
	Hurry   context.Context // ends at a second signal, when nothing is to be waited for any more

	console *cli.Console
	server  *cli.MetricsServer
	ready   func()
}

// Say says a line on standard error.
func (e *Env) Say(format string, args ...any) { e.console.Say(format, args...) }

// Warn says what is wrong while the program goes on. It may be called with a lock held.
func (e *Env) Warn(err error) { e.console.Notice("%s", cli.Text(err)) }

// Event says what happens on the bus: an OnEvent.
func (e *Env) Event(event bus.Event) { e.console.Event(event) }

// Register serves metrics with those of --metrics.
func (e *Env) Register(all ...prometheus.Collector) error { return e.server.Register(all...) }

// Show serves the state of a subscriber or publisher.
func (e *Env) Show(ask func(context.Context, state.Question) (state.State, error)) {
	e.server.Show(ask)
}

// Ready tells the service manager that the program works from now on. It is called once.
func (e *Env) Ready() { e.ready() }

// flags are those of all commands, and of the program's.
type flags struct {
	cli.Common
	kong.Plugins

	busless bool
}

// BeforeResolve is a hook of kong: a command that needs no bus does not miss it.
func (f *flags) BeforeResolve(read *kong.Context) error {
	if read.Selected() == nil || !busless(read.Selected().Target.Addr().Interface()) {
		return nil
	}
	f.busless = true
	for _, flag := range read.Model.Flags {
		if flag.Name == "bus" {
			flag.Required = false
		}
	}
	return nil
}

// BusOf implements cli.BusUser.
func (f *flags) BusOf(command any) string {
	if busless(command) {
		return ""
	}
	return f.Bus
}

// Check reports what is wrong with the flags of all commands.
func (f *flags) Check() error {
	check := f.Common.Check
	if f.busless {
		check = f.CheckBusless
	}
	err := check()
	if f.LossFile != "" {
		err = errors.Join(err, errors.New("--loss-file: this program writes none: leave it out"))
	}
	return err
}

// run is one run of the program.
type run struct {
	flags   *flags
	name    string
	console *cli.Console
	hurry   context.Context
	summary fmt.Stringer
}

// Model returns the flags of a program.
//
//   - commands: as Main takes them.
func Model(about cli.Program, commands any) (*kong.Application, error) {
	return cli.Model(about, &flags{Plugins: kong.Plugins{commands}})
}

// Main runs a program and returns its exit code.
//
//   - commands: a pointer to a struct whose fields with the tag cmd are Commands.
func Main(about cli.Program, commands any, args []string, s cli.Streams) int {
	cli.IgnoreClosedPipes()
	signals := cli.TakeSignals(about.Name, s.Err)
	defer signals.Stop()
	s.Out = stream.NewOutput(s.Out, nil)
	f := &flags{Plugins: kong.Plugins{commands}}
	chosen, name, code, ok := cli.ParseCommand(about, f, args, s)
	if !ok {
		return code
	}
	signals.Reread(&f.Security)
	r := &run{flags: f, name: about.Name, console: cli.NewConsole(about.Name+" "+name, s.Err, f.Log), hurry: signals.Hurry}
	r.console.Follow(signals.Asked)
	r.console.SayWaits()
	err := r.run(signals.Asked, chosen.(Command))
	return r.conclude(err, s)
}

// errDuration ends a run after --duration.
var errDuration = errors.New("--duration is over")

// run opens what the command works with, and runs it.
func (r *run) run(ctx context.Context, command Command) (err error) {
	if d := r.flags.Duration; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, errDuration)
		defer cancel()
	}
	server, err := r.flags.ServeMetrics(r.name, r.console.Say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	env := &Env{Name: r.flags.Name, Monitor: server.Addr(), Hurry: r.hurry, console: r.console, server: server, ready: func() {}}
	if !busless(command) {
		closed, failed := r.open(env)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, closed()) }()
	}
	r.summary, err = command.Run(ctx, env)
	return err
}

// open opens the node on the bus, and returns what closes it.
func (r *run) open(env *Env) (closed func() error, err error) {
	n, closeNode, err := r.flags.Node(r.console, env.server)
	if err != nil {
		return nil, err
	}
	stopping := func() {}
	env.Node = n
	env.ready = func() { stopping = cli.Ready(r.console, n.Loop().Post) }
	return func() error {
		stopping()
		return closeNode()
	}, nil
}

// conclusion is what --json prints.
type conclusion struct {
	Program string  `json:"program"`
	Seconds float64 `json:"seconds"`
	Summary any     `json:"summary,omitempty"`
	Exit    int     `json:"exit"`
	Error   string  `json:"error,omitempty"`
}

// begun is when the program began.
var begun = time.Now()

// conclude says how the run went, and returns the exit code.
func (r *run) conclude(err error, s cli.Streams) int {
	c := conclusion{Program: r.name, Seconds: time.Since(begun).Seconds(), Exit: cli.Code(err)}
	if r.summary != nil {
		c.Summary = r.summary
	}
	if err != nil {
		c.Error = cli.Text(err)
		r.console.Fail(err)
	}
	if !r.flags.JSON {
		if r.summary != nil {
			r.console.Summary(r.summary)
		}
		return r.console.End(c.Exit)
	}
	return r.console.Conclude(c.Exit, s.Out, func(code int, err error) any {
		if c.Exit = code; err != nil {
			c.Error = cli.Text(err)
		}
		return c
	})
}
