// SPDX-License-Identifier: Apache-2.0

package bus

// SubscriberWorkOf returns how many steps the jobs of a subscriber have taken so far,
// and the most in one slice.
func SubscriberWorkOf(s *Subscriber) (steps uint64, longest int) {
	done := make(chan struct{})
	if !subscriberOf(s).loop.Post(func() {
		defer close(done)
		steps, longest = subscriberOf(s).work.Total, subscriberOf(s).work.Longest
	}) {
		return 0, 0
	}
	<-done
	return steps, longest
}

// SourcesOf returns how many publishers a subscriber knows.
func SourcesOf(s *Subscriber) (n int) {
	done := make(chan struct{})
	if !subscriberOf(s).loop.Post(func() {
		defer close(done)
		n = len(subscriberOf(s).sources)
	}) {
		return 0
	}
	<-done
	return n
}

// Held is what a publisher holds of its peers.
type Held struct {
	Connections, Lanes, Seats int
	Groups, GroupBytes        int // of subscriptions that are not complete
	Jobs                      int
	Observers                 int
}

// HeldOf returns what a publisher holds of its peers.
func HeldOf(p *Publisher) (h Held) {
	done := make(chan struct{})
	if !publisherOf(p).loop.Post(func() {
		defer close(done)
		publisherOf(p).fan.Mu.Lock()
		defer publisherOf(p).fan.Mu.Unlock()
		h = Held{
			Connections: len(publisherOf(p).connections), Lanes: publisherOf(p).fan.Shape().Lanes, Seats: publisherOf(p).seats.Len(),
			Groups: publisherOf(p).groups.Len(), GroupBytes: publisherOf(p).groups.Held(), Jobs: publisherOf(p).work.Waiting(), Observers: publisherOf(p).desk.Observers.Observers(),
		}
	}) {
		return h
	}
	<-done
	return h
}

// WaitingIn returns how many bytes of answers wait for one publisher at most, and how
// many entries of events wait to be told. Loop only.
func WaitingIn(s *Subscriber) (answers, events int) {
	for _, src := range subscriberOf(s).sources {
		answers = max(answers, src.out.Queue().Bytes())
	}
	return answers, subscriberOf(s).events.Waiting()
}
