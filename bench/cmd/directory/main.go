// SPDX-License-Identifier: Apache-2.0

// Command directory measures a directory with many publishers and subscribers, each with a
// client of its own, in some processes. The members of etcd are processes of their own.
package main

import (
	"os"
	"slices"
	"time"

	"tagbus/bench/internal/load"
)

// Roles of the processes that this program starts.
const (
	roleClients = "clients"
	roleMember  = "member"
)

func main() {
	o := load.Parse()
	switch o.Role {
	case roleMember:
		load.Must(serve(o.Addr, o.Way))
	case roleClients:
		load.Must(newClients(o).run())
	default:
		r, err := measure(o)
		load.Must(err)
		r.Report()
		load.AwaitQuit()
	}
}

// settle is how long the clients do nothing before their idleness is measured.
const settle = 15 * time.Second

// measure starts everything, and measures once the runner says go.
func measure(o load.Options) (r load.PubResult, err error) {
	folder, err := os.MkdirTemp("", "directory")
	if err != nil {
		return r, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	b := &bed{o: o, url: folder}
	defer b.close()
	if o.Members > 0 {
		if err := b.startMembers(folder); err != nil {
			return r, err
		}
	}
	if err := b.startClients(); err != nil {
		return r, err
	}
	load.Listening("here")
	load.AwaitGo()
	r.StartNS = load.Now()
	r.Extra, err = b.figures()
	r.EndNS = load.Now()
	return r, err
}

// figures measures.
func (b *bed) figures() (map[string]float64, error) {
	servers, clients := used(b.members), used(b.clients)
	begun := load.Now()
	all, err := b.ask("go")
	if err != nil {
		return nil, err
	}
	seen, slowest := int64(0), 0.0
	for _, a := range all {
		seen, slowest = max(seen, a.SeenNS), max(slowest, a.Slowest)
	}
	x := map[string]float64{
		load.AllSeen: float64(seen-begun) / 1e9, load.SlowestAnnounce: slowest,
		load.ServersCPU: used(b.members) - servers, load.ClientsCPU: used(b.clients) - clients,
	}
	time.Sleep(settle) //nolint:forbidigo // nothing happens that could be waited for
	servers, clients = used(b.members), used(b.clients)
	time.Sleep(time.Duration(b.o.Seconds * 1e9)) //nolint:forbidigo // as above
	x[load.ServersIdle], x[load.ClientsIdle] = (used(b.members)-servers)/b.o.Seconds, (used(b.clients)-clients)/b.o.Seconds

	begun = load.Now()
	if all, err = b.ask("one"); err != nil {
		return nil, err
	}
	seen = 0
	gone, problems := 0, 0
	for _, a := range all {
		seen = max(seen, a.SeenNS)
		gone, problems = gone+a.Gone, problems+a.Problems
	}
	x[load.OneSeen] = float64(seen-begun) / 1e9
	x[load.WronglyGone], x[load.Problems] = float64(gone), float64(problems)
	x[load.MemberBytes], _ = memory(b.members)
	_, x[load.ClientsBytes] = memory(b.clients)
	return x, nil
}

// used is the processor time that processes have used so far, in seconds.
func used(processes []*child) (seconds float64) {
	for _, p := range processes {
		seconds += p.cpu()
	}
	return seconds
}

// memory returns the largest of the most memory that each process had, and their sum, in
// bytes.
func memory(processes []*child) (largest, sum float64) {
	for _, p := range processes {
		peak := p.peak()
		largest, sum = max(largest, peak), sum+peak
	}
	return largest, sum
}

// bed is the processes of a measurement.
type bed struct {
	o                load.Options
	url              string // of the directory
	members, clients []*child
}

func (b *bed) close() {
	for _, p := range slices.Concat(b.clients, b.members) {
		p.close()
	}
}

// ask sends a line to all clients, and returns their answers.
func (b *bed) ask(line string) (all []answer, err error) {
	for _, p := range b.clients {
		if err := p.say(line); err != nil {
			return nil, err
		}
	}
	for _, p := range b.clients {
		var a answer
		if err := p.read(&a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
