// SPDX-License-Identifier: Apache-2.0

package bus

// One message of a publisher, or one call of the program, may cause work for a million
// tags or many thousand subscriptions. The subscriber's work queue does it in slices.
// Meanwhile the source reads nothing, so each message is handled after the work of the
// one before.

// spend counts the work caused by a message of the publisher. When the budget of a slice
// is used up, all sources stop reading until the next slice.
func (src *source) spend() {
	steps := src.in.Steps
	src.in.Steps = 0
	if src.share.Spend(steps) {
		return
	}
	for _, o := range src.sub.sources {
		if o.contact.Ready() {
			o.share.Rest()
		}
	}
}

// prune forgets the tags of a lane that no request wants any more, if there may be many.
func (src *source) prune(lane uint16) {
	if job := src.in.Prune(lane); job != nil {
		src.sub.work.Add(job)
	}
}
