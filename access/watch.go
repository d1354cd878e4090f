// SPDX-License-Identifier: Apache-2.0

package access

import "sync"

// watcher calls a function, one call at a time.
type watcher struct {
	mu      sync.Mutex
	stopped bool
	changed func()
}

// tell tells the watchers that answers may have become others.
func (a *Access) tell() {
	a.mu.Lock()
	all := make([]*watcher, 0, len(a.watchers))
	for w := range a.watchers {
		all = append(all, w)
	}
	a.mu.Unlock()
	if len(all) > 0 {
		a.report(nil)
	}
	for _, w := range all {
		w.call()
	}
}

func (w *watcher) call() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.changed()
	}
}

// Watch implements bus.Access. stop must not be called from within changed.
func (a *Access) Watch(changed func()) (stop func()) {
	w := &watcher{changed: changed}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watchers[w] = struct{}{}
	return func() {
		a.mu.Lock()
		delete(a.watchers, w)
		a.mu.Unlock()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.stopped = true
	}
}
