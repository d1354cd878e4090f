// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"fmt"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

const (
	linksPerHost = 24
	linksPerTag  = 2 // e-links of each link: few, as their number costs memory and decides nothing
	rackHosts    = 20
	waveHosts    = 10 // that restart at once
)

// plan is how large a site is.
type plan struct {
	hosts      int
	processes  int // publishers of each host, which share its links
	handlers   int // consumers of all tags of one host each: event builders
	subsystems int // consumers of one e-link of each link of a tenth of the hosts: slow control, calibration
	monitors   int // consumers of one e-link of each link of all hosts, by a pattern
}

// readout is the site of docs/scaling.md: a process for each host, as a readout host has few
// cards and all links of a card are read by one process.
var readout = plan{hosts: 350, processes: 1, handlers: 350, subsystems: 100, monitors: 50}

// fit returns the plan, or without TAGBUS_TESTS=all a tenth of it.
func (p plan) fit() plan {
	if testkit.All() && !testkit.Race {
		return p
	}
	for _, n := range []*int{&p.hosts, &p.handlers, &p.subsystems, &p.monitors} {
		*n = (*n + 9) / 10
	}
	return p
}

func (p plan) String() string {
	return fmt.Sprintf("%d hosts of %d links in %d process(es), %d tags; %d consumers of a host, %d of a tenth of the hosts, %d of all: %d connections",
		p.hosts, linksPerHost, p.processes, p.hosts*linksPerHost*linksPerTag, p.handlers, p.subsystems, p.monitors, p.connections())
}

// connections returns how many there are when all is active.
func (p plan) connections() int {
	return p.processes * (p.handlers + p.subsystems*p.tenth() + p.monitors*p.hosts)
}

func (p plan) tenth() int { return (p.hosts + 9) / 10 }

// tag returns that of an e-link.
func tag(t *testing.T, host, link, elink int) tags.Tag {
	t.Helper()
	id, err := tags.Fields{Version: tags.FormatVersion, Connector: uint16(host), Link: uint16(link), ELink: uint8(elink)}.Tag()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// served returns the tags of a process.
func (p plan) served(t *testing.T, host, process int) []tags.Tag {
	t.Helper()
	var list []tags.Tag
	for link := process; link < linksPerHost; link += p.processes {
		for elink := range linksPerTag {
			list = append(list, tag(t, host, link, elink))
		}
	}
	return list
}

// reading is what a consumer subscribes to.
type reading struct {
	name  string
	set   tags.Set
	hosts int
	tags  int
}

// readings returns those of all consumers.
func (p plan) readings(t *testing.T) (all []reading) {
	t.Helper()
	read := func(name string, first, hosts, elinks int) {
		var list []tags.Tag
		for i := range hosts {
			for link := range linksPerHost {
				for elink := range elinks {
					list = append(list, tag(t, (first+i)%p.hosts, link, elink))
				}
			}
		}
		all = append(all, reading{name, tags.Of(list...), hosts, len(list)})
	}
	for i := range p.handlers {
		read(fmt.Sprintf("handler-%d", i), i, 1, linksPerTag)
	}
	for i := range p.subsystems {
		read(fmt.Sprintf("subsystem-%d", i), i*p.tenth(), p.tenth(), 1)
	}
	for i := range p.monitors {
		all = append(all, reading{fmt.Sprintf("monitor-%d", i), firstELinks(t), p.hosts, p.hosts * linksPerHost})
	}
	return all
}

// firstELinks returns the pattern of e-link 0 of each link of each host.
func firstELinks(t *testing.T) tags.Set {
	t.Helper()
	any, err := tags.Fields{Connector: 1<<16 - 1, Link: 1<<13 - 1}.Tag()
	if err != nil {
		t.Fatal(err)
	}
	return tags.Match(tag(t, 0, 0, 0), ^any)
}

// perLink is a tenth of the site with a process for each link.
var perLink = plan{hosts: 35, processes: linksPerHost, handlers: 35, subsystems: 10, monitors: 5}
