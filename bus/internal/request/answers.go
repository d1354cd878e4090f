// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"math"

	"tagbus/tags"
)

// Subscribed takes an acknowledgement of the publisher.
//
//   - again: it has acknowledged the subscription on an earlier connection, too.
//   - Errors: it was not asked for that.
func (a *Asker[S]) Subscribed(id uint64) (r *Request[S], again bool, err error) {
	r = a.Of(id)
	if r == nil || !r.Subscribing() {
		return nil, false, fmt.Errorf("acknowledged subscription %d, which was not asked for", id)
	}
	again = r.Acknowledged()
	a.note(r)
	return r, again, nil
}

// Unsubscribed takes the acknowledgement of an end.
//
//   - had: the tags that the publisher was asked for.
//   - Errors: it was not asked to end the subscription.
func (a *Asker[S]) Unsubscribed(id uint64) (r *Request[S], had tags.Set, err error) {
	r = a.Of(id)
	if r == nil || !r.Leaving() {
		return nil, tags.Set{}, fmt.Errorf("ended subscription %d by itself", id)
	}
	had = r.sent
	r.Ended()
	a.note(r)
	return r, had, nil
}

// Refused takes the refusal of a subscription. It returns nil if none was asked for.
func (a *Asker[S]) Refused(id uint64, reason error) *Request[S] {
	r := a.Of(id)
	if r == nil || !r.Subscribing() {
		return nil
	}
	r.Refused(reason)
	a.note(r)
	return r
}

// Positioned returns the request of which the publisher gives positions.
//
// Errors: it was not asked for that.
func (a *Asker[S]) Positioned(id uint64) (*Request[S], error) {
	r := a.Of(id)
	if r == nil || !r.Open() {
		return nil, fmt.Errorf("gave positions for subscription %d, which was not asked for", id)
	}
	return r, nil
}

// AskAnew makes ConsiderAll ask again for what was refused: the publisher may allow it now.
func (a *Asker[S]) AskAnew() {
	for _, r := range a.All() {
		if r.denied != nil {
			r.AskAnew()
			a.note(r)
		}
	}
}

// Lost notes the end of the connection: what was to be sent on it is not sent any more.
// Disconnect follows before there is another one.
func (a *Asker[S]) Lost() {
	a.conn++
	a.considering, a.sending = false, 0
}

// Disconnect forgets what was asked for on a connection that is Lost, and the subscriptions
// that are over. Then it calls then.
//
//   - atOnce: not as a job, since there are few of them.
func (a *Asker[S]) Disconnect(atOnce bool, then func()) {
	left := a.All()
	a.forgetting = true
	forget := func(budget int) (steps int, done bool) {
		for ; len(left) > 0 && steps < budget; steps += Steps {
			a.disconnect(left[len(left)-1])
			left = left[:len(left)-1]
		}
		if len(left) > 0 {
			return steps, false
		}
		a.forgetting = false
		then()
		return steps, true
	}
	if atOnce {
		forget(math.MaxInt)
		return
	}
	a.work.Add(forget)
}

// disconnect forgets what was asked for of one request.
func (a *Asker[S]) disconnect(r *Request[S]) {
	over := a.side.Over(r.Sub)
	r.Disconnected(over)
	a.note(r)
	if over {
		a.side.Ended(r.Sub)
	}
}
