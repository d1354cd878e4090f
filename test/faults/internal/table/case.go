// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/pki"
	"tagbus/test/faults/internal/record"
)

// Patience is how long a case waits for what has no promise of time, on a machine that does not stand still.
const Patience = time.Minute

// etcdExpiry is how long the entry of a publisher that was killed stays in a directory on etcd.
const etcdExpiry = 10 * time.Second

// Tools are the programs that cases start.
type Tools struct {
	Load      []string // command line of the load on a folder
	LoadEtcd  []string // the same with a directory on etcd
	Directory string   // tagbus-directory
	Commands  string   // folder of publisher, subscriber and tagbus
	Stalls    *bed.Stalls
}

// Case is one run of a row. Its methods end the case when a promise is broken.
type Case struct {
	*bed.Bed
	Row            *Row
	Directory, Way string
	Bus            string // --bus
	Tools          Tools
	Server         *bed.Process  // tagbus-directory, of a case on etcd
	Valid          time.Duration // of certificates; 0: a day
	Timeout        time.Duration // silence that ends a connection, at all programs that start from then on; 0: 3 s

	publishers, subscribers []*Program
	ca                      *pki.Authority
	measured                []string
	counts                  Counts
	begun                   time.Duration // stalls until then
	lossless                bool
}

// broken ends a case.
type broken struct{ error }

// Fail ends the case: a promise is broken.
func (*Case) Fail(format string, args ...any) { panic(broken{fmt.Errorf(format, args...)}) }

// Must ends the case with an error that is not nil.
func (c *Case) Must(err error) {
	if err != nil {
		c.Fail("%w", err)
	}
}

// run runs a case, and returns what became of it.
func run(r *Row, directory, way, dir string, tools Tools) (o Outcome) {
	o = Outcome{Row: r, Directory: directory, Way: way}
	begun := time.Now()
	b, err := bed.New(dir)
	if err != nil {
		o.Verdict, o.Reason = NotRun, err.Error()
		return o
	}
	c := &Case{Bed: b, Row: r, Directory: directory, Way: way, Tools: tools, begun: tools.Stalls.Total(), counts: make(Counts)}
	o.Logs = b.Dir
	defer func() {
		o.Took, o.Measured = time.Since(begun), c.measured
		switch why := recover().(type) {
		case nil:
		case broken:
			o.Verdict, o.Reason = Broken, why.Error()
		default:
			b.Close()
			panic(why)
		}
		b.Close()
	}()
	c.open()
	r.Run(c)
	c.struck()
	return o
}

// open makes the directory of the case.
func (c *Case) open() {
	if c.Directory == File {
		c.Bus = filepath.Join(c.Dir, "bus")
		return
	}
	c.Bus = "etcd://" + bed.AddressA + ":2379/faults"
	c.StartServer()
}

// StartServer starts tagbus-directory, again if there was one.
func (c *Case) StartServer() {
	var err error
	c.Server, err = c.Start(c.A, "directory", nil, c.Tools.Directory, "--data", filepath.Join(c.Dir, "data"), "--listen", bed.AddressA, "--json")
	c.Must(err)
	for deadline := c.deadline(Patience); c.On(c.A, c.Tools.Directory, "status", "--at", bed.AddressA) != nil; {
		if time.Now().After(deadline) {
			c.Fail("tagbus-directory does not work")
		}
		Idle(100 * time.Millisecond)
	}
}

// Idle waits; the processes go on.
func Idle(d time.Duration) { <-time.After(d) }

// IdleUntil waits until some time has gone by since a time of Now.
func (c *Case) IdleUntil(since int64, d time.Duration) { Idle(time.Duration(since-c.Now()) + d) }

// Far returns the host of what is not beside the publisher: the other one, unless they share memory.
func (c *Case) Far() bed.Host {
	if c.Way == SHM {
		return c.A
	}
	return c.B
}

// Publisher starts a publisher. The flags are those of package load.
func (c *Case) Publisher(name string, h bed.Host, flags ...string) *Program {
	return c.BeforePublisher(name, h, nil, nil, flags...)
}

// Subscriber starts a subscriber.
func (c *Case) Subscriber(name string, h bed.Host, flags ...string) *Program {
	return c.Before(name, h, nil, nil, flags...)
}

// Before starts a subscriber behind a command, such as strace, and with an environment.
func (c *Case) Before(name string, h bed.Host, before, env []string, flags ...string) *Program {
	p := c.program(name, h, append([]string{"subscribe"}, flags...), env, before...)
	c.subscribers = append(c.subscribers, p)
	return p
}

// BeforePublisher starts a publisher as Before does a subscriber.
func (c *Case) BeforePublisher(name string, h bed.Host, before, env []string, flags ...string) *Program {
	p := c.program(name, h, append([]string{"publish", "-listen", h.Address}, flags...), env, before...)
	c.publishers = append(c.publishers, p)
	return p
}

func (c *Case) program(name string, h bed.Host, flags, env []string, before ...string) *Program {
	command := c.Tools.Load
	if c.Directory == Etcd {
		command = c.Tools.LoadEtcd
		flags = append([]string{flags[0], "-expiry", etcdExpiry.String()}, flags[1:]...)
	}
	p := &Program{c: c, record: filepath.Join(c.Dir, name+".record")}
	words := append(append([]string(nil), before...), command...)
	words = append(words, flags[0], "-name", name, "-bus", c.Bus, "-backend", c.backend(), "-record", p.record, "-shm-folder", filepath.Join(c.Dir, "shm"))
	if c.Timeout != 0 {
		words = append(words, "-timeout", c.Timeout.String())
	}
	if c.Way == TLS {
		words = append(words, c.credentials(name)...)
	}
	var err error
	p.Process, err = c.Start(h, name, env, append(words, flags[1:]...)...)
	c.Must(err)
	return p
}

// Subscribers returns all subscribers.
func (c *Case) Subscribers() []*Program { return c.subscribers }

// Command starts a command of tagbus on a host.
func (c *Case) Command(name string, h bed.Host, args ...string) *Program {
	p := &Program{c: c}
	var err error
	p.Process, err = c.Start(h, name, nil, args...)
	c.Must(err)
	return p
}

// Strangers starts connections to an address from a host. The flags are those of package load.
func (c *Case) Strangers(name string, h bed.Host, to string, flags ...string) *Program {
	p := &Program{c: c}
	words := append([]string{"prlimit", "--nofile=20000", "--"}, c.Tools.Load...)
	words = append(words, "strangers", "-to", to)
	if c.Way == TLS {
		words = append(words, "-secure")
	}
	var err error
	p.Process, err = c.Start(h, name, nil, append(words, flags...)...)
	c.Must(err)
	return p
}

func (c *Case) backend() string {
	if c.Way == SHM {
		return "auto"
	}
	return c.Way
}

// CA returns the authority of the case.
func (c *Case) CA() *pki.Authority {
	if c.ca == nil {
		var err error
		c.ca, err = pki.New(filepath.Join(c.Dir, "pki"))
		c.Must(err)
	}
	return c.ca
}

// credentials returns the flags of a program with a certificate in its name.
func (c *Case) credentials(name string) []string {
	cert, key, err := c.CA().Issue(name, cmp.Or(c.Valid, 24*time.Hour))
	c.Must(err)
	return []string{"-cert", cert, "-key", key, "-ca", c.CA().File}
}

// deadline returns when waiting for something with a promise is over: the promise, several times, and more on a
// machine that stands still.
func (c *Case) deadline(promise time.Duration) time.Time { return time.Now().Add(c.limit(promise)) }

// limit is the time at which a promise counts as broken.
func (c *Case) limit(promise time.Duration) time.Duration {
	return 4*promise + 10*time.Second + 3*(c.Tools.Stalls.Total()-c.begun)
}

// Note notes what was measured.
func (c *Case) Note(format string, args ...any) {
	c.measured = append(c.measured, fmt.Sprintf(format, args...))
}

// Took notes a time with its promise, and fails if it is far more.
func (c *Case) Took(what string, took, promise time.Duration) {
	c.Note("%s %s (%s)", what, Short(took), Short(promise))
	if took > c.limit(promise) {
		c.Fail("%s: took %v, promised %v", what, took, promise)
	}
}

// Short returns a time with two digits.
func Short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return "<1 ms"
}

// Now returns the time of the lines of all programs.
func (*Case) Now() int64 { return record.Now() }

// Until waits for a condition, and notes how long that took.
func (c *Case) Until(what string, promise time.Duration, condition func() bool) {
	begun := time.Now()
	for deadline := c.deadline(promise); !condition(); Idle(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fail("%s: not within %v; promised within %v", what, Short(time.Since(begun)), Short(promise))
		}
	}
	c.Took(what, time.Since(begun), promise)
}
