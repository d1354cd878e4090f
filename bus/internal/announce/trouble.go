// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"errors"
	"sync/atomic"
	"time"

	"tagbus/bus/directory"
)

// Trouble is what is wrong with an entry now. The zero value is nothing.
//
// Threads: any, for all methods.
type Trouble struct{ failing, crowded atomic.Bool }

// Failing reports whether the entry cannot be renewed.
func (t *Trouble) Failing() bool { return t.failing.Load() }

// Crowded reports whether the entry is renewed, among too many.
func (t *Trouble) Crowded() bool { return t.crowded.Load() }

func (t *Trouble) set(err error) {
	crowded := errors.Is(err, directory.ErrCrowded)
	t.failing.Store(err != nil && !crowded)
	t.crowded.Store(crowded)
}

// report notes the problems of an entry, and tells of them, if the directory reports them.
// It does so in a goroutine of its own.
func (t *Trouble) report(r directory.Registration, tell func(News)) {
	reporter, ok := r.(directory.Reporter)
	if !ok {
		return
	}
	var began time.Time
	var cause error
	var asking atomic.Bool // a problem that is there already: the entry was not announced
	unannounced := false
	asking.Store(true)
	reporter.OnProblem(func(err error) { // one call at a time
		t.set(err)
		news := Failing{Err: err}
		if err != nil {
			began, cause, unannounced = time.Now(), err, asking.Load() && !errors.Is(err, directory.ErrCrowded)
		} else {
			news.Err, news.Over, news.Lasted = cause, true, time.Since(began)
		}
		news.Unannounced = unannounced
		tell(news)
	})
	asking.Store(false)
}

// ReportCrowded notes and tells of the problems of the entry of a client: only that there are
// too many. That the entry cannot be renewed is no trouble: nothing fails without it.
func (t *Trouble) ReportCrowded(r directory.Registration, tell func(News)) {
	t.report(&crowdedOnly{Registration: r}, tell)
}

// crowdedOnly is a registration of whose problems only directory.ErrCrowded is reported.
type crowdedOnly struct {
	directory.Registration
	crowded bool // was told; one report at a time
}

// OnProblem implements directory.Reporter.
func (c *crowdedOnly) OnProblem(report func(error)) {
	reporter, ok := c.Registration.(directory.Reporter)
	if !ok {
		return
	}
	reporter.OnProblem(func(err error) {
		crowded := errors.Is(err, directory.ErrCrowded)
		if crowded == c.crowded {
			return
		}
		if c.crowded = crowded; !crowded {
			err = nil
		}
		report(err)
	})
}
