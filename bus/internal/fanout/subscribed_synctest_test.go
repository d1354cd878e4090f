// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Each wait ends with the change that it waits for, and with no other.
func TestFanout_awaitSubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pageBytes, buffers = 4096, 8
		pool, err := netio.NewPool(buffers, pageBytes)
		if err != nil {
			t.Fatal(err)
		}
		b := newBytesBed(t, subscription.Policy{}, 0, Config{
			Pool: pool, PageBytes: pageBytes, QueueBytes: buffers * pageBytes / 2, MaxMessageBytes: 1 << 10, Served: tags.Of(1, 2),
		})
		may := func() error { return nil }
		waits := make(map[string]chan error)
		wait := func(name string, ctx context.Context, least int, set tags.Set) {
			result := make(chan error, 1)
			waits[name] = result
			go func() { result <- b.fan.AwaitSubscribed(ctx, least, set, may) }()
		}
		ends := func(why string, names ...string) {
			t.Helper()
			synctest.Wait()
			for _, name := range names {
				select {
				case err := <-waits[name]:
					if err != nil {
						t.Errorf("%s, %s: got %v", name, why, err)
					}
				default:
					t.Errorf("%s goes on, %s", name, why)
				}
				delete(waits, name)
			}
			for name, result := range waits {
				if len(result) > 0 {
					t.Errorf("%s ends with %v, %s", name, <-result, why)
				}
			}
		}
		join := func(set tags.Set) {
			box := new(Outbox)
			box.Init(&b.fan, &modelEndpoint{read: func([]byte) {}}, func(err error) { t.Fatal(err) })
			b.subscribe(box, set, subscription.Policy{})
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		wait("no subscriber", ctx, 0, tags.Of(1, 2))
		wait("one of any tag", ctx, 1, tags.Set{})
		wait("one of both tags", ctx, 1, tags.Of(1, 2))
		wait("two of any tag", ctx, 2, tags.Set{})
		wait("three", t.Context(), 3, tags.Set{})
		wait("another tag", ctx, 1, tags.Of(3))
		ends("without subscribers", "no subscriber")
		join(tags.Of(1))
		ends("with one of tag 1", "one of any tag")
		join(tags.Of(1))
		ends("with two of tag 1", "two of any tag")

		reason := errors.New("no time")
		cancel(reason)
		synctest.Wait()
		for _, name := range []string{"one of both tags", "another tag"} {
			if err := <-waits[name]; !errors.Is(err, reason) {
				t.Errorf("%s: got %v, want %v", name, err, reason)
			}
			delete(waits, name)
		}
		onLoop := errors.New("on a loop")
		if err := b.fan.AwaitSubscribed(t.Context(), 3, tags.Of(2), func() error { return onLoop }); !errors.Is(err, onLoop) {
			t.Errorf("got %v, want %v", err, onLoop)
		}
		if err := b.fan.AwaitSubscribed(t.Context(), 2, tags.Of(1), func() error { return onLoop }); err != nil {
			t.Errorf("got %v, want nil: there is nothing to wait for", err)
		}
		b.fan.Mu.Lock()
		b.fan.Stop()
		b.fan.Mu.Unlock()
		if err := <-waits["three"]; !errors.Is(err, ErrStopped) {
			t.Errorf("got %v, want ErrStopped", err)
		}
	})
}
