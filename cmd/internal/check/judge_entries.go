// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"net/netip"
	"time"

	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

// judgeEntries says what is wrong with the entries of the directory.
func judgeEntries(s *seen) []Finding {
	f := &findings{group: "entries"}
	if !s.listed() {
		return nil
	}
	if len(s.entries) == 0 {
		f.add(Note, "no-entries", s.bus, "start a publisher, or correct --bus", "it has no entry of a publisher or receiver: the bus is empty")
		return f.all
	}
	byName := make(map[string][]*entrySeen)
	byAddress := make(map[netip.AddrPort][]*entrySeen)
	var names []string
	var addresses []netip.AddrPort
	for i := range s.entries {
		f.renewal(s, &s.entries[i])
	}
	living := s.living()
	for _, e := range living {
		if e.Entry.Name != "" {
			if byName[e.Entry.Name] == nil {
				names = append(names, e.Entry.Name)
			}
			byName[e.Entry.Name] = append(byName[e.Entry.Name], e)
		}
		if onlyLoopback(&e.Entry) {
			continue // it leads each host to itself
		}
		for _, a := range e.Entry.Addresses {
			if a.Addr().Unmap().IsLoopback() {
				continue
			}
			if byAddress[a] == nil {
				addresses = append(addresses, a)
			}
			if all := byAddress[a]; len(all) == 0 || all[len(all)-1] != e {
				byAddress[a] = append(all, e)
			}
		}
	}
	for _, name := range names {
		if same := byName[name]; len(same) > 1 {
			f.add(Note, "same-name", name, "give each a --name of its own, so that operators can tell them apart",
				"%d instances have this name: %s", len(same), instances(same))
		}
	}
	for _, a := range addresses {
		if same := byAddress[a]; len(same) > 1 {
			f.add(Warning, "address-shared", a.String(), "correct --advertise of the wrong one, or remove its entry",
				"%d entries announce this address, and one program at most listens there: %s", len(same), listed(same))
		}
	}
	f.ok(s.bus, "%s of publishers and receivers, all renewed", count(len(living), "entry", "entries"))
	return f.sorted()
}

// renewal judges whether a program stands behind an entry.
func (f *findings) renewal(s *seen, e *entrySeen) {
	ago := max(0, e.silent).Round(time.Second)
	switch {
	case e.Ended:
		f.of(&e.Entry, Warning, "stale-entry", fmt.Sprintf("look why it did not end in order; %s is removed by itself after 10 minutes, or by you now", e.Name),
			"its process %d has ended and has left the entry, %v ago: programs of other hosts dial it without success", e.Entry.PID, ago)
	case !e.expired(s.us.expiry):
	case e.reached():
		f.of(&e.Entry, Warning, "entry-not-renewed", "look at its problem lines; its user needs to write the folder",
			"it runs, and has not renewed its entry for %v: programs that start now do not find it", ago)
	case e.process != nil:
		why, do := e.process.trouble()
		if why == "" {
			why, do = fmt.Sprintf("its process %d runs, and is overloaded or stands still", e.process.pid), "look at its log, and at its stacks, which it prints on SIGQUIT at its end"
		}
		// It is no better than before its entry was stale, when its addresses were told as silent.
		f.of(&e.Entry, Error, "stale-entry", do, "its entry has not been renewed for %v, and it does not answer: %s", ago, why)
	default:
		f.of(&e.Entry, Warning, "stale-entry", fmt.Sprintf("look after its host; if it is not to come back, %s is removed by itself after 10 minutes, or by you now", e.Name),
			"its entry has not been renewed for %v, and it does not answer: it was killed, is stopped, or its host is cut off", ago)
	}
}

// instances names some by their ids.
func instances(all []*entrySeen) string {
	return overview.Few(all, func(e **entrySeen) string { return sanitize.Text((*e).Entry.Instance) })
}

// listed names some as operators know them.
func listed(all []*entrySeen) string {
	return overview.Few(all, func(e **entrySeen) string { return sanitize.Text(who(&(*e).Entry)) })
}
