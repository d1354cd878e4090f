// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWaits(t *testing.T) {
	tests := []struct {
		name        string
		aside       bool
		signal      time.Duration // 0: none
		second      time.Duration
		returns     time.Duration
		said, ended []string // with the time
	}{
		{"a call that returns in time", false, 0, 0, 2 * time.Second, nil, nil},
		{"a call that does not", false, 0, 0, time.Hour, []string{"2.5s f"}, nil},
		{"a signal while it is waited for", false, 5 * time.Second, 0, time.Hour, []string{"2.5s f"}, []string{"5s f"}},
		{"a signal before it is late", false, time.Second, 0, time.Hour, nil, []string{"2.5s f"}},
		{"a signal, and then it returns", false, time.Second, 0, 2 * time.Second, nil, nil},
		{"a second signal before it is late", false, time.Second, 1600 * time.Millisecond, time.Hour, nil, []string{"1.6s f", "2.5s f"}},
		{"a call aside, and a signal", true, 5 * time.Second, 6 * time.Second, time.Hour, []string{"2.5s f"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, start := newWaits(), time.Now()
				var mu sync.Mutex
				var said, ended []string
				note := func(to *[]string) func(string) {
					return func(path string) {
						mu.Lock()
						defer mu.Unlock()
						*to = append(*to, time.Since(start).String()+" "+path)
					}
				}
				p.say = note(&said)
				ctx, cancel := context.WithCancel(t.Context())
				hurry, cancelHurry := context.WithCancel(t.Context())
				defer cancel()
				defer cancelHurry()
				defer p.follow(ctx, hurry, note(&ended))() // the process goes on here
				over := p.begin("f", test.aside)
				if test.signal > 0 {
					time.AfterFunc(test.signal, cancel)
				}
				if test.second > 0 {
					time.AfterFunc(test.second, cancelHurry)
				}
				time.Sleep(test.returns)
				over()
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				if !slices.Equal(said, test.said) || !slices.Equal(ended, test.ended) {
					t.Errorf("got said %q and ended %q, want %q and %q", said, ended, test.said, test.ended)
				}
			})
		})
	}
}
