// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

// seenAs returns what this command would have seen of a situation.
func seenAs(o *overview.Overview) *seen {
	s := healthy()
	s.entries, s.us.host, s.us.program = nil, "pc-1", ""
	for i := range o.Rows {
		r := &o.Rows[i]
		addr := r.Entry.Addresses[0]
		e := entrySeen{
			Found: file.Found{Name: r.Entry.Instance + ".jsonl", Beat: time.Second, Entry: r.Entry}, moved: true,
			greets: []greetSeen{{addr: addr, done: true, Greeting: observer.Greeting{Protocol: observer.ProtocolVersion, Instance: r.Entry.Instance}}},
			first:  answerSeen{state: r.Before, err: r.Err}, second: answerSeen{state: r.State},
		}
		if r.Err != nil && !errors.Is(r.Err, observer.ErrDenied) && !errors.Is(r.Err, observer.ErrNotObservable) && !errors.Is(r.Err, overview.ErrNoAnswer) {
			e.greets[0].err = r.Err
		}
		s.entries = append(s.entries, e)
	}
	for i := range o.Dead {
		s.entries = append(s.entries, entrySeen{Found: file.Found{Name: "dead.jsonl", Entry: o.Dead[i].Entry, Ended: true}, silent: time.Minute})
	}
	s.folder.survey.All, s.folder.survey.Names = !o.Full, 2
	if o.Problem != nil {
		s.servers = &serversSeen{problems: []error{o.Problem}, entries: len(o.Rows)}
	}
	return s
}

// TestCheckSaysWhatAllToolsSay: its status is that of what package overview finds.
func TestCheckSaysWhatAllToolsSay(t *testing.T) {
	for _, x := range overviewtest.Situations() {
		t.Run(x.Name, func(t *testing.T) {
			s := seenAs(&x.Look)
			all := judge(s)
			got := worst(all)
			if wrong, want := got >= Warning, x.Want >= Warning; wrong != want {
				t.Errorf("got %v, want %v: %s", got, x.Want, shown(all, faults))
			}
			text := shown(all, func(f Finding) bool { return f.Level == got })
			if !strings.Contains(text, x.Who) {
				t.Errorf("got %s, want %s in it", text, x.Who)
			}
			if x.ID != "" && x.ID != overview.NoAnswer && x.Look.Problem == nil && !strings.Contains(text, ": "+x.ID+": ") {
				t.Errorf("got %s, want %s", text, x.ID)
			}
		})
	}
}
