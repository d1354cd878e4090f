// SPDX-License-Identifier: Apache-2.0

package pending_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"tagbus/bus/internal/pending"
)

func TestBook_Await(t *testing.T) {
	reason := errors.New("no time")
	for _, x := range []struct {
		name   string
		comes  func(b *pending.Book[string], q *pending.Request[string], ended chan struct{}, cancel context.CancelCauseFunc)
		reply  string
		err    error
		counts pending.Counts
	}{
		{"a reply", func(b *pending.Book[string], q *pending.Request[string], _ chan struct{}, _ context.CancelCauseFunc) {
			b.Answer(q.ID, func() string { return "yes" })
		}, "yes", nil, pending.Counts{Replies: 1}},
		{"no reply in time", func(_ *pending.Book[string], _ *pending.Request[string], _ chan struct{}, cancel context.CancelCauseFunc) {
			cancel(reason)
		}, "", reason, pending.Counts{Late: 1}},
		{"an end", func(_ *pending.Book[string], _ *pending.Request[string], ended chan struct{}, _ context.CancelCauseFunc) {
			close(ended)
		}, "", pending.ErrEnded, pending.Counts{Late: 1}},
		{"a reply at the last moment", func(b *pending.Book[string], q *pending.Request[string], ended chan struct{}, _ context.CancelCauseFunc) {
			b.Answer(q.ID, func() string {
				close(ended) // the reply is about to be there
				return "yes"
			})
		}, "yes", nil, pending.Counts{Replies: 1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, ended := pending.New[string](1), make(chan struct{})
				q, err := b.Begin(nil)
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				done := make(chan struct{})
				go func() {
					defer close(done)
					reply, err := b.Await(ctx, q, ended)
					if reply != x.reply || !errors.Is(err, x.err) {
						t.Errorf("got %q, %v, want %q, %v", reply, err, x.reply, x.err)
					}
				}()
				synctest.Wait()
				x.comes(b, q, ended, cancel)
				<-done
				if x.err != nil {
					b.Answer(q.ID, func() string { return "late" })
				}
				if c, waiting := b.Counts(); c != x.counts || waiting != 0 {
					t.Errorf("got %+v, %d waiting, want %+v", c, waiting, x.counts)
				}
			})
		})
	}
}
