// SPDX-License-Identifier: Apache-2.0

package bus

// Pause stops reading from the publishers of the subscription until Resume. They have no
// room soon, and do what its policy says, as if the subscriber were slow: so a handler that
// hands messages on can hold the publishers, or have them lose messages in their own count.
// It stops all subscriptions to these publishers, since they share the connection. Time in
// which nothing is read is no silence (SubscriberConfig.HeartbeatTimeout).
//
// Called by a handler or elsewhere on the loop it takes effect at once: only messages of the
// page that is being delivered still come. It does nothing if the subscription is paused, or
// closed. Blocks: never.
func (sub *Subscription) Pause() { sub.onLoop(sub.pause) }

// Resume undoes Pause, as closing the subscription does. Blocks: never.
func (sub *Subscription) Resume() { sub.onLoop(sub.resume) }

// onLoop calls f, now or soon.
func (sub *Subscription) onLoop(f func()) {
	if loop := sub.owner.loop; loop.OnLoop() {
		f()
	} else {
		loop.Post(f) // without a loop there is nothing to read
	}
}

// pause stops reading from all publishers that have been asked. Loop only.
func (sub *Subscription) pause() {
	if sub.over() {
		return
	}
	sub.held = true
	for _, src := range sub.owner.sources {
		if src.requests.Of(sub.id) != nil {
			sub.stall(src)
		}
	}
}

// resume ends a pause. Loop only.
func (sub *Subscription) resume() {
	sub.held = false
	sub.unpause()
}
