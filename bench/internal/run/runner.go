// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"tagbus/bench/internal/costs"
	"tagbus/bench/internal/load"
	"tagbus/bench/internal/scenario"
)

// Runner measures. The goroutine that uses it is locked to its thread
// (runtime.LockOSThread), and is the main one: the processes that it starts end
// with that thread.
type Runner struct {
	Built    *Built
	Profile  scenario.Profile
	Patience time.Duration // to wait for an idle machine, before one measurement
	Idle     float64       // share of the machine that others may use
	Profiles string        // folder for profiles of the programs in Go; empty: none

	waited time.Duration // in all; no more than Profile.Waiting
}

// startTime is how long programs may take for all but the measurement itself.
const startTime = 90 * time.Second

// directoryTime is how long a directory may take beyond that.
const directoryTime = 5 * time.Minute

// trial are the processes of a measurement.
type trial struct {
	pub, server *process
	subs        []*process // those that are stopped last
	folder      string
	until       <-chan time.Time
	profile     string // file, of the publisher's CPU

	// Processor time of a replay and a recorder that are processes of their own, in
	// seconds; 0: there was none.
	replayCPU, recorderCPU float64
	calls                  *calls // of sendmsg by the publisher, or nil
}

// Measure measures a system in a scenario once. What goes wrong is in the
// record.
func (r *Runner) Measure(s scenario.Scenario, system scenario.System, round int) Record {
	record := Record{Scenario: s.Name, System: system.Name, Round: round}
	if s.HalfOf != "" {
		of, _ := scenario.Named(s.HalfOf)
		most := r.Measure(of, system, round)
		if most.Error != "" {
			record.Error = most.Error
			return record
		}
		s.Rate = most.Figure(scenario.Messages, s.Size) / 2
	}
	waited := quiet(min(r.Patience, r.Profile.Waiting-r.waited), r.Idle)
	r.waited += waited
	record.Waited = waited.Seconds()
	before, began := busy(), time.Now()
	if err := r.measure(s, system, &record); err != nil {
		record.Error = err.Error()
	}
	others := (busy() - before).Seconds() - record.CPU()
	record.Foreign = max(0, others/time.Since(began).Seconds()/float64(runtime.NumCPU()))
	return record
}

func (r *Runner) measure(s scenario.Scenario, system scenario.System, record *Record) (err error) {
	folder, err := os.MkdirTemp(r.Built.folder, "measure")
	if err != nil {
		return err
	}
	patience := startTime + time.Duration(10*r.Profile.Seconds*float64(time.Second))
	if s.Work == load.WorkDirectory {
		patience += directoryTime
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	t := &trial{folder: folder, until: limit.C}
	defer func() {
		t.close(err != nil, s.Stopped)
		t.spent(record)
		if s.Profiled && err == nil {
			record.Profile, err = costs.Of(t.profile)
		}
		err = errors.Join(err, os.RemoveAll(folder))
	}()
	if err := r.open(t, s, system); err != nil {
		return err
	}
	active := t.subs[:len(t.subs)-s.Stopped]
	for _, p := range t.subs[len(active):] {
		if err := p.command.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	if s.Profiled {
		t.calls, _ = countCalls(t.pub.command.Process.Pid, "sendmsg") // without root there is no count
	}
	for _, p := range t.all() {
		p.cpuAtGo = load.ProcessCPU(p.command.Process.Pid)
	}
	if _, err := t.pub.stdin.Write([]byte("go\n")); err != nil {
		return fmt.Errorf("run: %s: %w", t.pub.name, err)
	}
	var pub load.PubResult
	if err := t.pub.read(&pub, t.until); err != nil {
		return err
	}
	t.replayCPU = pub.CPU
	var subs []load.SubResult
	if s.Work != load.WorkPingPong {
		subs = make([]load.SubResult, len(active))
		for i, p := range active {
			if err := p.read(&subs[i], t.until); err != nil {
				return err
			}
			t.recorderCPU += subs[i].CPU
		}
	}
	record.add(s, pub, subs)
	if s.HalfOf != "" {
		record.note(BulkRate, s.Rate)
	}
	return nil
}

// open starts the processes of a measurement, in the order in which each needs
// to know where the one before it is.
func (r *Runner) open(t *trial, s scenario.Scenario, system scenario.System) error {
	args := append(s.Args(r.Profile), arguments(system)...)
	environment := []string{"TMPDIR=" + t.folder}
	launch := func(role string, more ...string) (*process, error) {
		more = append(more, r.profiles(t, s, system, role)...)
		if slices.Contains(system.Args, scenario.Apart) {
			free, err := bind(role)
			if err != nil {
				return nil, err
			}
			defer free()
		}
		return start(system.Name+" "+role, r.Built.Path(system.Program), slices.Concat(args, []string{"--role=" + role}, more), environment)
	}
	var at struct {
		Listen string
		Ready  bool
	}
	var err error
	if serves(system.Program) {
		if t.server, err = launch(load.RoleServer); err != nil {
			return err
		}
		if err := t.server.read(&at, t.until); err != nil {
			return err
		}
	}
	if t.pub, err = launch(load.RolePub, "--addr="+at.Listen); err != nil {
		return err
	}
	if err := t.pub.read(&at, t.until); err != nil {
		return err
	}
	for i := range s.Processes() {
		more := []string{"--addr=" + at.Listen}
		if i >= s.Processes()-s.Stopped {
			more = append(more, "--policy=drop-newest")
		}
		p, err := launch(load.RoleSub, more...)
		if err != nil {
			return err
		}
		t.subs = append(t.subs, p)
	}
	for _, p := range t.subs {
		if err := p.read(&at, t.until); err != nil {
			return err
		}
	}
	return nil
}

// arguments are those of a system, with what the runner fills in.
func arguments(system scenario.System) []string {
	var args []string
	for _, arg := range system.Args {
		switch arg {
		case scenario.FastCongestion:
			args = append(args, "--congestion="+FastCongestion())
		case scenario.Apart:
		default:
			args = append(args, arg)
		}
	}
	return args
}

// profiles are the arguments for the profiles of a process, if there are to be some.
// Those of several subscribers replace each other.
func (r *Runner) profiles(t *trial, s scenario.Scenario, system scenario.System, role string) []string {
	folder := r.Profiles
	if s.Profiled && role == load.RolePub && folder == "" {
		folder = t.folder
	}
	if folder == "" || role == load.RoleServer {
		return nil
	}
	name := filepath.Join(folder, strings.ReplaceAll(s.Name, "/", "-")+"-"+system.Name+"-"+role)
	if role == load.RolePub {
		t.profile = name + ".cpu.prof"
	}
	return []string{"--cpuprofile=" + name + ".cpu.prof", "--memprofile=" + name + ".mem.prof"}
}

func serves(program string) bool {
	return slices.ContainsFunc(scenario.Programs, func(p scenario.Program) bool { return p.Name == program && p.Server })
}

// all returns the processes that were started.
func (t *trial) all() []*process {
	all := slices.Clone(t.subs)
	for _, p := range []*process{t.pub, t.server} {
		if p != nil {
			all = append(all, p)
		}
	}
	return all
}

// close ends all processes; after a failure, and those that are stopped, without
// asking.
func (t *trial) close(failed bool, stopped int) {
	for _, p := range t.all() {
		_ = p.stdin.Close()
	}
	for i, p := range t.subs {
		p.end(failed || i >= len(t.subs)-stopped)
	}
	for _, p := range []*process{t.pub, t.server} {
		if p != nil {
			p.end(failed)
		}
	}
}

// spent adds to a record what the processes have used, which have ended.
func (t *trial) spent(record *Record) {
	record.PublisherCPU = cpuOf(t.pub)
	record.SubscriberCPU = cpuOf(t.subs...)
	if t.replayCPU > 0 {
		record.PublisherCPU = t.replayCPU
	}
	if t.recorderCPU > 0 {
		record.SubscriberCPU = t.recorderCPU // not what checks it
	}
	record.ServerCPU = cpuOf(t.server)
	if n := t.calls.end(); n > 0 && record.Extra != nil {
		record.Extra[SendCalls] = n
	}
}

func cpuOf(processes ...*process) float64 {
	var total time.Duration
	for _, p := range processes {
		if p != nil {
			total += p.cpu()
		}
	}
	return total.Seconds()
}
