// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"tagbus/tags"
)

// Version is that of the JSON form.
const Version = 1

// Role is what an instance does.
type Role string

// The roles.
const (
	Publisher  Role = "publisher"  // listens, and sends
	Subscriber Role = "subscriber" // dials, and receives
	Sender     Role = "sender"     // dials, and sends
	Receiver   Role = "receiver"   // listens, and receives
)

// State is the state of an instance: one run of a publisher, subscriber, sender or receiver.
type State struct {
	Version int       `json:"state_version"` // of this form
	Time    time.Time `json:"time"`          // by the clock of its host

	Role     Role      `json:"role"`           // what it does
	Instance string    `json:"instance"`       // id, new for each run
	Name     string    `json:"name,omitempty"` // for operators
	Host     string    `json:"host,omitempty"` // name of its host
	PID      int       `json:"pid"`            // process id on that
	Since    time.Time `json:"since"`          // when it was opened
	Program  string    `json:"program"`        // version of tagbus in it; "(devel)" if the build does not say
	Go       string    `json:"go"`             // version of Go that has built it

	Backend   string   `json:"backend"`             // transport: "tcp", "rdma:verbs"; of several, the best first, "shm,tcp"
	Addresses []string `json:"addresses,omitempty"` // announced for the last backend; of those that dial: none
	Ways      []Way    `json:"ways,omitempty"`      // announced for the others
	Tags      string   `json:"tags,omitempty"`      // announced or wanted, in the text form of tags.Set; cut after MaxTagsText bytes
	TagParts  int      `json:"tag_parts"`           // ranges and patterns of that set

	PageBytes       int `json:"page_bytes,omitempty"` // of the pages that it sends, or takes at most
	MaxMessageBytes int `json:"max_message_bytes"`    // largest that it sends or takes

	Messages     uint64 `json:"messages"`           // accepted by Publish, or received
	PayloadBytes uint64 `json:"payload_bytes"`      // of those
	LeftOut      uint64 `json:"left_out_messages"`  // by the policies latest and sample, on purpose
	Silent       uint64 `json:"silent_peers"`       // connections closed here because nothing was heard
	Broken       uint64 `json:"broken_connections"` // connections that ended without goodbye
	EntryFailing bool   `json:"entry_failing"`      // the entry in the directory cannot be renewed now
	Losses       []Loss `json:"losses,omitempty"`   // of all peers, those that are gone too
	Path         *Path  `json:"path,omitempty"`     // sum of the connections that are open; absent if the transport measures nothing, or there are more than 1,024

	Sending   *Sending   `json:"sending,omitempty"`   // of a publisher or sender
	Receiving *Receiving `json:"receiving,omitempty"` // of a subscriber or receiver

	// Connected counts the peers, of which Peers has some: those that are stalled come first, then those
	// that were cut off of late, then those that lack tags, then those with the fullest queues, then those with losses.
	Connected int     `json:"connected_peers"`
	Stalled   int     `json:"stalled_peers"`        // of those: connected, and taking nothing
	Fullest   float64 `json:"fullest_queue"`        // largest share of its limit that a queue of a peer holds: 0 to 1
	Peers     []Peer  `json:"peers,omitempty"`      // as many as were asked for
	Gone      []Peer  `json:"gone_peers,omitempty"` // remembered, the last to go first; as many as were asked for. Of a subscriber: none, since the directory has publishers

	ByBackend []BackendCount `json:"connected_by_backend,omitempty"` // the connected peers by the transport of their connections, the most first

	KnownTags int   `json:"known_tags"`             // tags of which there was a message; of a subscriber or receiver for each publisher and policy
	Busiest   []Tag `json:"busiest_tags,omitempty"` // by rate; as many as were asked for
	Asked     []Tag `json:"asked_tags,omitempty"`   // those of Question.Tags that are known

	Monitor string `json:"monitor,omitempty"` // announced: where its process serves metrics and its state by HTTP

	EntryCrowded bool `json:"entry_crowded"` // its entry is one of more than programs follow: some may not find it

	AccessFailing bool `json:"access_failing"` // its certificates or its policy cannot be read again now: those of before are in use
}

// Way is how to dial an instance by one transport.
type Way struct {
	Backend   string   `json:"backend"`   // transport: "shm", "rdma:verbs"
	Addresses []string `json:"addresses"` // announced
}

// BackendCount is how many connections go by one transport.
type BackendCount struct {
	Backend   string `json:"backend"`         // transport: "tcp", "shm"
	Connected int    `json:"connected_peers"` // by it
}

// PassedWay is a transport that is better than that of a connection, and not used.
type PassedWay struct {
	Backend string `json:"backend"` // transport: "shm"
	Reason  string `json:"reason"`  // why, in words
}

// Sending is what only a publisher or sender counts.
type Sending struct {
	QueueBytes       int    `json:"queue_limit_bytes"`    // of each lane, at most
	Refusals         uint64 `json:"refusals"`             // times that there was no room for a message
	Unconfirmed      uint64 `json:"unconfirmed_messages"` // of ended connections: lost or received, the peer has not said
	Replayed         uint64 `json:"replayed_messages"`    // sent from the cache, counted for each peer
	StallsEnded      uint64 `json:"ended_stalls"`         // connections closed here because the peer took nothing
	Strangers        uint64 `json:"strangers"`            // connections that were not from a tagbus program
	Streams          int    `json:"streams"`              // sets of subscribers that share pages
	PoolPages        int    `json:"pool_pages"`           // in the pool
	PoolFreePages    int    `json:"pool_free_pages"`      // of those: no message is in them
	PoolMinFreePages int    `json:"pool_min_free_pages"`  // smallest of the last minute, or of up to two
	CachedMessages   int    `json:"cached_messages"`      // in the cache
	CachedBytes      int    `json:"cached_bytes"`         // of its memory: used
	CacheLimitBytes  int    `json:"cache_limit_bytes"`    // of its memory: all; 0: there is no cache
}

// Receiving is what only a subscriber or receiver counts.
type Receiving struct {
	Pages          uint64 `json:"pages"`               // received
	Overflowed     uint64 `json:"overflowed_messages"` // received, and lost in a full queue of a subscription
	Unwanted       uint64 `json:"unwanted_messages"`   // came after the end of their subscription
	Panics         uint64 `json:"panics"`              // calls of a handler that panicked
	Retained       int    `json:"retained_messages"`   // kept by Retain now
	RetainedBytes  int    `json:"retained_bytes"`      // memory that is kept for those
	RetainRefusals uint64 `json:"retain_refusals"`     // calls of Retain for which there was no memory
}

// Loss counts messages that were lost for one reason.
type Loss struct {
	Cause    Cause     `json:"cause"`          // why they were lost
	Messages uint64    `json:"messages"`       // lost for that
	First    time.Time `json:"first,omitzero"` // when one was lost; to the second; zero: not known
	Last     time.Time `json:"last,omitzero"`  // when one was lost last; to the second; zero: not known
}

// Cause is why messages were lost.
type Cause string

// The causes.
const (
	Full       Cause = "full"       // the lane had no room
	Memory     Cause = "memory"     // the pool had no page for lossy lanes
	Connection Cause = "connection" // lost with a connection
	Ended      Cause = "ended"      // missing at the end of a publisher, without a reason
	Overflow   Cause = "overflow"   // received, and lost in a full queue of a subscription
	Panic      Cause = "panic"      // received, and its handler panicked
)

// Peer is the other side of a connection.
type Peer struct {
	Instance string    `json:"instance"`          // id, new for each run
	Name     string    `json:"name,omitempty"`    // for operators
	Host     string    `json:"host,omitempty"`    // name of its host
	PID      int       `json:"pid,omitempty"`     // process id on that
	Address  string    `json:"address"`           // of its side of the connection
	Backend  string    `json:"backend,omitempty"` // transport of the connection: "tcp", "shm"; "": not known
	Since    time.Time `json:"since"`             // when the connection began

	Passed []PassedWay `json:"passed_ways,omitempty"` // better ways than Backend that the peer announces, and why this side, which has dialed, does not use them

	Denied string `json:"denied_tags,omitempty"` // of a subscriber: that it wants, as it has said on this connection, and the policy here does not let it have; of a sender: that are received here, and it may not send; cut as State.Tags is

	Heard        time.Time `json:"heard,omitzero"`         // when anything came from it last
	RoundTrip    float64   `json:"rtt_seconds,omitempty"`  // as the transport measures it; 0: not known
	Path         *Path     `json:"path,omitempty"`         // of what this side has sent on the connection, which is little if it receives; absent if the transport measures nothing
	StalledSince time.Time `json:"stalled_since,omitzero"` // takes nothing of what waits for it since then; zero: it does, or not for long

	Ended  time.Time `json:"ended,omitzero"`       // when the connection of a gone peer ended
	Reason string    `json:"end_reason,omitempty"` // why, of one without goodbye; at most MaxReason bytes

	// What follows is of all connections of this instance that have ended, as this side
	// remembers it: a peer that is cut off again and again is new at each look.
	Broken          uint64    `json:"broken_connections,omitempty"` // ended without goodbye, closed here or there
	StallsEnded     uint64    `json:"ended_stalls,omitempty"`       // of those: closed here because the peer took nothing
	OwnStalls       uint64    `json:"own_stalls,omitempty"`         // and of those: closed there after this program took nothing
	FirstBroken     time.Time `json:"first_broken,omitzero"`        // when the first of them ended
	LastBroken      time.Time `json:"last_broken,omitzero"`         // when the last of them ended
	BrokenReason    string    `json:"broken_reason,omitempty"`      // why the last of them ended; at most MaxReason bytes
	UnconfirmedFrom time.Time `json:"unconfirmed_from,omitzero"`    // since when messages are unconfirmed, or were so last: the peer was heard last then
	UnconfirmedTo   time.Time `json:"unconfirmed_to,omitzero"`      // when the last connection ended by which they became so

	Messages    uint64    `json:"sent_messages"`               // handed whole to the transport on this connection, or received on it
	Bytes       uint64    `json:"sent_bytes"`                  // of the pages
	Pages       uint64    `json:"sent_pages"`                  // handed to the transport on this connection, or received on it
	FreeSends   *int      `json:"free_sends,omitempty"`        // pages and control messages that its endpoint would take at once; missing: this side receives, or the peer is gone
	MinFree     *int      `json:"min_free_sends,omitempty"`    // smallest of the last minute, or of up to two; missing: as free_sends
	Queued      *int      `json:"queued_bytes,omitempty"`      // in all lanes; missing: as free_sends
	QueueLimit  *int      `json:"queue_limit_bytes,omitempty"` // of all lanes; missing: as free_sends
	Unconfirmed uint64    `json:"unconfirmed_messages"`        // of ended connections: lost or received, it has not said; of a peer that sends: 0
	LeftOut     uint64    `json:"left_out_messages"`           // by the policies latest and sample, on purpose
	Losses      []Loss    `json:"losses,omitempty"`            // of all lanes, on all connections of this instance
	Lanes       []Lane    `json:"lanes,omitempty"`             // by policy
	LostTags    []LostTag `json:"lost_tags,omitempty"`         // those of which it has lost most; as many as were asked for
}

// Lane is what the subscriptions of a peer with one policy share.
type Lane struct {
	Policy      string     `json:"policy"`                // what becomes of messages for which there is no room: "block", "sample:10"
	Parts       int        `json:"tag_parts"`             // ranges and patterns that are subscribed to
	Queued      int        `json:"queued_bytes"`          // of pages reserved, queued or being sent
	QueueLimit  int        `json:"queue_limit_bytes"`     // that it may hold
	Messages    uint64     `json:"sent_messages"`         // on all connections of this instance
	Unconfirmed uint64     `json:"unconfirmed_messages"`  // of ended connections: lost or received, the peer has not said
	LeftOut     uint64     `json:"left_out_messages"`     // by the policies latest and sample, on purpose
	Wanted      []tags.Tag `json:"wanted_tags,omitempty"` // those that are asked for and that it wants, if no more than MaxWanted are asked for
	Losses      []Loss     `json:"losses,omitempty"`      // on all connections of this instance
}

// LostTag is a tag of which a peer has lost messages.
type LostTag struct {
	Tag    tags.Tag `json:"tag"`    // as 0x and 16 hexadecimal digits
	Policy string   `json:"policy"` // of the lane that has lost them
	Losses []Loss   `json:"losses"` // without times: those are known of the lane
}

// Tag is what was published or received of one tag.
type Tag struct {
	Tag          tags.Tag  `json:"tag"`                         // as 16 hexadecimal digits after 0x
	Messages     uint64    `json:"messages"`                    // accepted by Publish, or received
	PayloadBytes uint64    `json:"payload_bytes"`               // of those, of a publisher or sender
	Last         time.Time `json:"last,omitzero"`               // when the last message was accepted, of a publisher or sender; to the second
	Peers        int       `json:"subscribers"`                 // lanes that want it, of a publisher or sender
	LeftOut      uint64    `json:"left_out_messages,omitempty"` // by the policies latest and sample, on purpose
	Losses       []Loss    `json:"losses,omitempty"`            // of all peers; without times

	// LossesUnknown says that to find out was too much work: very many peers have lost messages.
	LossesUnknown bool `json:"losses_unknown,omitempty"`

	// Rates are over the last seconds. They are left out until the tag was looked at twice:
	// looking begins with the first question.
	MessageRate *float64 `json:"messages_per_second,omitempty"`      // over the last seconds; missing: not known yet
	ByteRate    *float64 `json:"payload_bytes_per_second,omitempty"` // of payload, over the last seconds; missing: not known yet
}

// Path is what a system has measured of the way to a peer: how much of what this side sends
// the network loses. A transport other than TCP measures nothing.
type Path struct {
	Segments      uint64 `json:"sent_segments"`          // with data in them; of a connection it begins again after 2^32
	Retransmitted uint64 `json:"retransmitted_segments"` // sent again, because they were lost or acknowledged too late
}
