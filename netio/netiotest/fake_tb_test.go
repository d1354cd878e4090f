// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"fmt"
	"runtime"
	"sync"
)

// fakeTB is a *testing.T that only remembers, with which a test can be seen to
// fail.
type fakeTB struct {
	mu       sync.Mutex
	failures []string
	skipped  bool
	cleanups []func()
}

// runFake runs a test, and its clean-up, as package testing would.
func runFake(test func(t *fakeTB)) *fakeTB {
	t := &fakeTB{}
	done := make(chan struct{})
	go func() { // a goroutine of its own, for Goexit
		defer close(done)
		defer t.cleanUp()
		test(t)
	}()
	<-done
	return t
}

func (t *fakeTB) cleanUp() {
	if len(t.cleanups) == 0 {
		return
	}
	defer t.cleanUp()
	last := len(t.cleanups) - 1
	f := t.cleanups[last]
	t.cleanups = t.cleanups[:last]
	f()
}

func (t *fakeTB) fail(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, text)
}

func (t *fakeTB) Helper()                           {}
func (t *fakeTB) Name() string                      { return "fake" }
func (t *fakeTB) Cleanup(f func())                  { t.cleanups = append(t.cleanups, f) }
func (t *fakeTB) Logf(string, ...any)               {}
func (t *fakeTB) Log(...any)                        {}
func (t *fakeTB) Errorf(format string, args ...any) { t.fail(fmt.Sprintf(format, args...)) }
func (t *fakeTB) Error(args ...any)                 { t.fail(fmt.Sprint(args...)) }
func (t *fakeTB) Fail()                             { t.fail("Fail") }

func (t *fakeTB) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *fakeTB) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

func (t *fakeTB) FailNow() {
	t.Fail()
	runtime.Goexit()
}

func (t *fakeTB) Skipf(string, ...any) { t.SkipNow() }
func (t *fakeTB) Skip(...any)          { t.SkipNow() }

func (t *fakeTB) SkipNow() {
	t.skipped = true
	runtime.Goexit()
}

func (t *fakeTB) Failed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.failures) > 0
}
