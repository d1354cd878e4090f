package bus

import (
	"tagbus/bus/internal/request"
	"tagbus/bus/internal/tagmap"
)

// subRequest is a subscription as one publisher knows it.
type subRequest = request.Request[*Subscription]

// note takes over a change of a request, and finds the targets of messages anew.
func (src *source) note(r *subRequest) {
	src.requests.Note(r)
	src.version++
}

// sourceLane is what a subscriber knows of one lane of a publisher.
type sourceLane struct {
	received tagmap.Map[received]
	kept     int  // of received, when it was last pruned
	pruning  bool // received is being pruned

	messages uint64 // received, since the publisher was first met
	told     uint64 // of those, on this connection
	here     bool   // acknowledged on this connection
}

// lane returns the state of the lane with a number.
func (src *source) lane(number uint16) *sourceLane {
	for int(number) >= len(src.lanes) {
		src.lanes = append(src.lanes, new(sourceLane))
	}
	return src.lanes[number]
}

// minPrune is the number of tags below which a lane forgets none.
const minPrune = 1024
