// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/tags"
)

// op is something that happens: what, where, and to which of those that there are.
type op struct {
	kind  string
	where int // 0, 1: the directory, or that into which a mirror copies
	which int
}

var kinds = []string{"announce", "announce", "update", "update", "withdraw", "expire", "mirror", "stop", "kill", "away", "back", "wait", "wait long"}

func ops() *rapid.Generator[[]op] {
	one := rapid.Custom(func(t *rapid.T) op {
		return op{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(0, 1).Draw(t, "where"), rapid.IntRange(0, 9).Draw(t, "which")}
	})
	return rapid.Custom(func(t *rapid.T) []op {
		all := rapid.SliceOfN(one, 1, 60).Draw(t, "ops")
		if rapid.Bool().Draw(t, "mirrors from the beginning") {
			all = append([]op{{kind: "mirror", where: 0}, {kind: "mirror", where: 1}}, all...)
		}
		return all
	})
}

// modelled is an entry that a publisher has announced.
type modelled struct {
	directory.Registration
	entry directory.Entry
	where int
	gone  bool // it has expired
}

// model has two directories, the publishers of both, and mirrors between them.
type model struct {
	dirs    [2]*memory.Directory
	natives []*modelled
	mirrors [2][]*running // by the directory into which they copy
	next    int
}

// do does one thing. Blocks: for the fake time that it takes.
func (m *model) do(o op) error {
	switch o.kind {
	case "announce":
		m.next++
		e := native(fmt.Sprintf("p%d", m.next), tags.Tag(m.next))
		r, err := m.dirs[o.where].Announce(e)
		m.natives = append(m.natives, &modelled{Registration: r, entry: e, where: o.where})
		return err
	case "wait":
		time.Sleep(700 * time.Millisecond)
	case "wait long":
		time.Sleep(40 * time.Second)
	case "mirror":
		m.next++
		m.mirrors[o.where] = append(m.mirrors[o.where], begin(fmt.Sprintf("m%d", m.next), m.dirs[1-o.where], m.dirs[o.where]))
	case "update", "withdraw", "expire":
		return m.change(o)
	default:
		m.fault(o)
	}
	return nil
}

// change changes an entry.
func (m *model) change(o op) error {
	if len(m.natives) == 0 {
		return nil
	}
	i := o.which % len(m.natives)
	n := m.natives[i]
	switch o.kind {
	case "update":
		m.next++
		n.entry.Tags, n.gone = tags.Of(tags.Tag(m.next)), false
		return n.Update(n.entry)
	case "withdraw":
		m.natives = slices.Delete(m.natives, i, i+1)
		return n.Withdraw()
	default: // until the next update
		n.gone = true
		m.dirs[n.where].Expire(n.entry.Instance, directory.ErrExpired)
	}
	return nil
}

// fault ends a mirror, or takes its storage away.
func (m *model) fault(o op) {
	all := m.mirrors[o.where]
	if len(all) == 0 {
		return
	}
	i := o.which % len(all)
	r := all[i]
	switch o.kind {
	case "stop", "kill":
		if m.mirrors[o.where] = slices.Delete(all, i, i+1); o.kind == "kill" || r.to.fails() != nil {
			r.to.kill()
		}
		_ = r.end() // one that was killed has copies left
	case "away":
		r.to.set(true)
	case "back":
		r.to.set(false)
	}
}

// wrong returns what a directory should not have, and what it lacks.
func (m *model) wrong(where int) (problems []string) {
	entries, err := m.dirs[where].List()
	if err != nil {
		return []string{err.Error()}
	}
	ids := make(map[string]bool)
	for _, r := range m.mirrors[where] {
		ids[r.view.id] = true
	}
	want := make(map[string]directory.Entry)
	for _, n := range m.natives {
		if !n.gone && (n.where == where || len(ids) > 0) {
			want[n.entry.Instance] = n.entry
		}
	}
	for _, e := range entries {
		w, wanted := want[e.Instance]
		delete(want, e.Instance)
		isCopy := e.Mirror != ""
		mirror := e.Mirror
		e.Mirror = ""
		switch {
		case !wanted:
			problems = append(problems, fmt.Sprintf("%s is in %d, by mirror %q, and no publisher has it", e.Instance, where, mirror))
		case !e.Equal(w):
			problems = append(problems, fmt.Sprintf("%s in %d is not what its publisher has announced", e.Instance, where))
		case isCopy && !ids[mirror]:
			problems = append(problems, fmt.Sprintf("%s is in %d by mirror %q, which does not run", e.Instance, where, mirror))
		}
	}
	for instance := range want {
		problems = append(problems, fmt.Sprintf("%s is not in %d", instance, where))
	}
	return problems
}

// runModel returns what is wrong, for the caller to report: a bubble runs on a goroutine of its
// own, on which rapid must not be called.
func runModel(t *testing.T, all []op) (problems []string) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		m := &model{dirs: [2]*memory.Directory{memory.New(), memory.New()}}
		for _, o := range all {
			if err := m.do(o); err != nil {
				problems = append(problems, fmt.Sprintf("%v: %v", o, err))
			}
		}
		for _, r := range slices.Concat(m.mirrors[0], m.mirrors[1]) {
			r.to.set(false)
		}
		time.Sleep(leaseTime + 2*maxPause)
		synctest.Wait()
		problems = append(problems, slices.Concat(m.wrong(0), m.wrong(1))...)
		for _, r := range slices.Concat(m.mirrors[0], m.mirrors[1]) {
			if err := r.end(); err != nil {
				problems = append(problems, err.Error())
			}
		}
		m.mirrors = [2][]*running{}
		synctest.Wait()
		problems = append(problems, slices.Concat(m.wrong(0), m.wrong(1))...)
		for _, d := range m.dirs {
			_ = d.Close() // that of memory does not fail
		}
	})
	return problems
}

// TestDirectoriesConverge: whatever happens, with several mirrors in both directions, each
// directory has in the end what lives in it and, with a mirror, what lives in the other.
func TestDirectoriesConverge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for _, p := range runModel(t, ops().Draw(rt, "ops")) {
			rt.Error(p)
		}
	})
}
